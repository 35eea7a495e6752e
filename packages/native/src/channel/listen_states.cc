#include "channel/listen_states.h"

#include <algorithm>

namespace sheaf::quic {
namespace {

// The source sends something in each interval. Three are lost together when the tree is cut.
constexpr int k_silent_intervals = 3;

// For so long a packet may wait for its proof on an idle channel.
Duration proof_time(const AuthenticationOffer& offer) {
  switch (static_cast<AuthenticationScheme>(offer.scheme)) {
    case AuthenticationScheme::kSigned:
      return 200ms;
    case AuthenticationScheme::kTimed: {
      const auto parameters = timed_parameters_of(offer);
      return parameters ? parameters->schedule.longest_wait() : Duration{};
    }
    default:
      return {};
  }
}

// Report intervals of a fast channel are as short as a source's loop may stop for, or a router when
// the tree changes. A false alarm brings copies of everything to each receiver. So silence is a
// quarter of the deadline, within what half of the log holds: the rest is the time to ask for
// copies of what was missed, which come late by all of the silence (figure 9c of the MCQUIC paper).
Duration least_silence(const ChannelOffer& offer) {
  constexpr Duration k_longest_pause = 400ms;
  return std::min({k_longest_pause, offer.deadline / 4, offer.log_time() / 2});
}

}  // namespace

ListenStates::ListenStates(const ChannelOffer& offer)
    : channel_(offer.channel),
      offer_(offer.sequence),
      silence_(std::max({k_silent_intervals * offer.report_interval,
                         proof_time(offer.authentication), least_silence(offer)})) {}

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
