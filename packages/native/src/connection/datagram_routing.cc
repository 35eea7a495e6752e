#include "connection/datagram_routing.h"

#include <algorithm>

#include "connection/parts.h"

namespace sheaf::quic {

std::optional<DatagramRouting::IdChange> DatagramRouting::poll_id_change() {
  const auto change = parts_.paths.poll_change();
  if (!change) return std::nullopt;
  return IdChange{change->id, change->added};
}

std::uint64_t DatagramRouting::eliciting_packets() const { return parts_.eliciting_packets; }

Duration DatagramRouting::shortest_round_trip() const {
  Duration shortest = Duration::max();
  for (const PathEntry* entry : parts_.paths.in_use()) {
    shortest = std::min(shortest, entry->path->rtt.smoothed());
  }
  return shortest;
}

void DatagramRouting::set_id_maker(const SharedIdMaker& maker) { parts_.paths.set_id_maker(maker); }

bool DatagramRouting::is_stateless_reset(Bytes datagram) const {
  return datagram.size() >= sizeof(StatelessResetToken) &&
         parts_.paths.is_reset_token(datagram.last(sizeof(StatelessResetToken)));
}

}  // namespace sheaf::quic
