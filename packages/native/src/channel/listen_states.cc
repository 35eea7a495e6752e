#include "channel/listen_states.h"

namespace sheaf::quic {

void ListenStates::enter(ListenState state, PacketNumber number) {
  state_ = state;
  pending_ = ChannelState{
      .channel = channel_, .offer = offer_, .state = state, .number = number, .reason = reason_};
}

void ListenStates::on_joined() {
  if (state_ == ListenState::kWant) enter(ListenState::kJoined, 0);
}

void ListenStates::on_group_packet(PacketNumber number, Time now) {
  if (left()) return;
  last_group_packet_ = now;
  if (state_ != ListenState::kReceiving) enter(ListenState::kReceiving, number);
}

// A receiver that was not receiving gets copies anyway.
void ListenStates::on_group_lost(PacketNumber end) {
  if (state_ == ListenState::kReceiving) enter(ListenState::kUnicast, end);
}

void ListenStates::on_timeout(PacketNumber end, Time now) {
  if (now >= next_timeout()) enter(ListenState::kUnicast, end);
}

Time ListenStates::next_timeout() const {
  return state_ == ListenState::kReceiving ? last_group_packet_ + silence_ : k_never;
}

void ListenStates::leave(LeaveReason reason) {
  if (left()) return;
  reason_ = reason;
  enter(ListenState::kLeft, 0);
}

}  // namespace sheaf::quic
