#pragma once

#include <algorithm>
#include <utility>

#include "io/wake_moderation.h"

namespace sheaf::channel_node {

// Decides when a receiver reads the socket of its group again. Packets that come often and that the
// receiver takes wait up to a millisecond for each other, since a wake costs more than a packet.
// Others delay nothing.
//
// Packets that wait for their proof count as taken, or a channel whose proofs come later would
// never be read this way. A member that forges such packets, several in each millisecond, delays
// those of the source by a millisecond, and saves the receiver wakes. It cannot make reads rarer
// than that, and the receiver leaves the group when most packets turn out to be forged
// (GroupDoubts).
class GroupReads {
 public:
  // To be called when the socket was read, with what arrived and with ChannelReceiver::taken.
  // Returns when to read it again; `now` means as soon as something arrives.
  quic::Time on_read(std::size_t datagrams, std::uint64_t taken, quic::Time now) {
    // A receiver of a later offer begins with 0.
    const std::uint64_t before = std::min(std::exchange(taken_, taken), taken);
    const std::size_t others = datagrams - std::min<std::size_t>(datagrams, taken - before);
    return moderation_.on_read(
        {.datagrams = datagrams, .prompt = others, .round_trip = k_round_trip}, now);
  }

 private:
  // A group has no round trip. This one permits the longest pauses.
  static constexpr quic::Duration k_round_trip =
      io::WakeModeration::k_round_trip_part * io::WakeModeration::k_longest;

  io::WakeModeration moderation_;
  std::uint64_t taken_ = 0;
};

}  // namespace sheaf::channel_node
