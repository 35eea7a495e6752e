#pragma once

#include <array>

#include "channel/channel_messages.h"
#include "channel/packet_ring.h"

namespace sheaf::quic {

// What one receiver still needs by unicast, at the source. Its size does not depend on the channel.
class ReceiverCopies {
 public:
  // The receiver begins with packet `first`. It gets those below `present`, which were there when
  // it came, however old they are.
  ReceiverCopies(PacketNumber first, PacketNumber present) : next_(first), present_(present) {}

  ListenState state() const { return state_; }
  // Whether the group brings it packets, and repairs, and it needs no others
  bool relies_on_group() const { return state_ == ListenState::kReceiving && !held_; }
  // Follows the receiver, until it has left. `sent_end` is one above the last packet of the
  // channel. Returns false for a receiver that wants copies from a number on twice in an
  // `interval`: it would get what the log has again and again, so copies only go on.
  bool on_state(const ChannelState& state, PacketNumber sent_end, Duration interval, Time now);
  // Takes what a report names as missing. Returns false for a report that is older than the last
  // one, that names packets which were never sent, or that comes too soon: receivers send two in an
  // `interval` at most, and the network may bring them closer together.
  bool on_report(const ChannelReport& report, PacketNumber sent_end, Duration interval, Time now);
  // The receiver gets copies of all packets although the group may reach it, or does not any more.
  void hold(bool held, PacketNumber sent_end);
  // The group brings what the last report named from a number on.
  void keep_below(PacketNumber number);
  // A packet is to be copied: the connection lost it, or the group brings it in no other way.
  void want(PacketNumber number) { want(number, number + 1); }

  // Returns the number of the next packet to copy, and counts it as sent: one that was named, or
  // else, if `in_order`, the next one. Skips those that the log
  // has no more, and those that are older than `oldest`. k_no_packet_number: there is none.
  PacketNumber take_next(const PacketRing& log, PacketNumber sent_end, Time oldest, bool in_order);
  bool has_next(PacketNumber sent_end, bool in_order) const {
    return missing_count_ > 0 || (in_order && next_ < std::min(end_, sent_end));
  }

  // The serial number of the next key that it has to get
  std::uint64_t next_key = 0;

 private:
  // Numbers from `base_` on, in half of the bytes: logs reach far less
  struct Range {
    std::uint32_t start = 0;
    std::uint32_t end = 0;
  };
  void want(PacketNumber start, PacketNumber end);
  void drop_first();

  ListenState state_ = ListenState::kWant;
  bool held_ = false;
  std::uint32_t missing_count_ = 0;
  PacketNumber next_;  // of copies in order
  PacketNumber present_;
  PacketNumber end_ = k_no_packet_number;  // the group brings the others
  std::uint64_t last_report_ = 0;
  Time last_report_at_{};
  Time last_unicast_at_{};  // when copies last went back to what the receiver wanted
  // Packets below `next_` to copy, ascending
  std::array<Range, ChannelReport::k_max_missing> missing_;
  PacketNumber base_ = 0;  // chosen with the first range
};
// What the planner of repairs and the request take comes beside it: 2 KiB together.
static_assert(sizeof(ReceiverCopies) <= 584);

}  // namespace sheaf::quic
