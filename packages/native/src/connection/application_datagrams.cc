#include "connection/application_datagrams.h"

#include <algorithm>

#include "connection/parts.h"

namespace sheaf::quic {

std::size_t ApplicationDatagrams::maximum_payload() const {
  const std::uint64_t peer_limit = parts_.peer_parameters.max_datagram_frame_size;
  std::size_t room = SIZE_MAX;  // on any of the paths
  for (PathEntry* entry : parts_.paths.in_use()) {
    if (!entry->usable() || entry->rules.apart) continue;
    // Header with the longest packet number, tag, frame type and a length of two bytes.
    const std::size_t overhead =
        1 + entry->remote_ids.current().length + 4 + k_aead_tag_length + 1 + 2;
    // Nodes that proxy it may have no jumbo frames ahead of them, and paths may lose theirs.
    room = std::min(room, entry->path->mtu.ordinary() - overhead);
  }
  if (room == SIZE_MAX || peer_limit == 0) return 0;
  return std::min<std::uint64_t>(room, peer_limit > 3 ? peer_limit - 3 : 0);
}

bool ApplicationDatagrams::send(Bytes payload, std::uint64_t identifier) {
  return payload.size() <= maximum_payload() && parts_.datagrams.send(payload, identifier);
}

ApplicationDatagrams::Conditions ApplicationDatagrams::conditions() const {
  Conditions conditions{.minimum_round_trip = Duration::max()};
  const auto payload = static_cast<double>(maximum_payload());
  for (PathEntry* entry : parts_.paths.in_use()) {
    if (!entry->usable() || entry->rules.apart || entry->path->validation.pending()) continue;
    const PathStats stats = parts_.path_stats(*entry);
    conditions.rate +=
        static_cast<std::uint64_t>(static_cast<double>(stats.sending_rate()) * payload / stats.mtu);
    conditions.minimum_round_trip = std::min(conditions.minimum_round_trip, stats.minimum_rtt);
  }
  if (conditions.rate == 0) conditions.minimum_round_trip = {};
  return conditions;
}

void ApplicationDatagrams::limit_waiting(std::size_t bytes) {
  parts_.datagrams.limit_outgoing(bytes);
}

std::optional<ReceivedDatagram> ApplicationDatagrams::receive() { return parts_.datagrams.read(); }

}  // namespace sheaf::quic
