#pragma once

#include <optional>
#include <utility>

#include "channel/channel_messages.h"

namespace sheaf::quic {

// Where a receiver listens, and what it tells the source of that. It begins with copies by unicast,
// leaves them when packets of the group come, and wants them again when the group falls silent. It
// never leaves the group for that, so the first packet that comes back ends the copies.
class ListenStates {
 public:
  explicit ListenStates(const ChannelOffer& offer);

  ListenState state() const { return state_; }
  LeaveReason reason() const { return reason_; }
  bool left() const { return state_ == ListenState::kLeft; }

  // The socket has joined the group.
  void on_joined();
  // A packet of the source came from the group.
  void on_group_packet(PacketNumber number, Time now);
  // Packets of the group are ignored for a while.
  void on_group_lost(PacketNumber end);
  // `end` is one above the highest number that arrived.
  void on_timeout(PacketNumber end, Time now);
  Time next_timeout() const;
  void leave(LeaveReason reason);

  // Returns what to tell the source.
  std::optional<ChannelState> poll() { return std::exchange(pending_, std::nullopt); }

 private:
  void enter(ListenState state, PacketNumber number);

  ChannelId channel_;
  std::uint64_t offer_;
  Duration silence_;  // after which the group has fallen silent
  ListenState state_ = ListenState::kWant;
  LeaveReason reason_ = LeaveReason::kWish;
  Time last_group_packet_{};
  std::optional<ChannelState> pending_ =
      ChannelState{.channel = channel_, .offer = offer_, .state = ListenState::kWant};
};

}  // namespace sheaf::quic
