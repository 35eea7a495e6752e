#pragma once

#include <algorithm>
#include <optional>

#include "channel/back_off.h"
#include "channel/channel_messages.h"

namespace sheaf::quic {

// Whether the source sends to its group: a circuit breaker (RFC 8084). Who loses the group gets
// copies, so nobody would notice that a tree carries packets for nobody. When receivers are in the
// group and for a while none of them hears it, the source pauses, and tries again after a wait
// that doubles. A receiver that lies about what it hears keeps the group fed, as one that hears it.
class GroupBreaker {
 public:
  explicit GroupBreaker(Duration report_interval)
      : patience_(std::max<Duration>(k_silent_intervals * report_interval, k_patience)),
        trial_(std::max<Duration>(k_trial_intervals * report_interval, k_trial)) {}

  // A receiver listens elsewhere than before.
  void on_state(ListenState before, ListenState state, Time now) {
    leave(before);
    if (state == ListenState::kReceiving && ++hearing_ == 1) try_at(Time{});
    if (!is_in_group(state)) return;
    ++members_;
    if (is_in_group(before)) return;
    if (members_ == 1) {
      try_at(Time{});  // what others did not hear says nothing about it
    } else if (now < retry_at_) {
      try_at(std::min(retry_at_, std::max(now, paused_at_ + k_newcomer_wait)));
    }
  }
  void on_removed(ListenState state) { leave(state); }

  // Whether what is due now goes to the group
  bool allows(Time now) {
    if (hearing_ > 0) return true;
    if (!is_tried(now)) return false;
    if (!quiet_until_) quiet_until_ = now + (retry_at_ == Time{} ? patience_ : trial_);
    if (now < *quiet_until_) return true;
    wait_.begin({.shortest = 1s, .longest = 30s}, now);
    paused_at_ = now;
    try_at(wait_.until());
    ++pauses_;
    return false;
  }
  // Whether members joined the group, none of them says that it hears it, and there is no pause
  bool is_tried(Time now) const { return hearing_ == 0 && members_ > 0 && now >= retry_at_; }
  // How often the source has paused
  std::uint64_t pauses() const { return pauses_; }

 private:
  // For so long nobody may hear the group: routers may have to build the tree first.
  static constexpr int k_silent_intervals = 10;
  static constexpr Duration k_patience = 3s;
  // And for so long the group is tried again: receivers have stayed in it.
  static constexpr int k_trial_intervals = 5;
  static constexpr Duration k_trial = 1s;
  // From a pause to the trial that a new member causes, at least
  static constexpr Duration k_newcomer_wait = 5s;

  static bool is_in_group(ListenState state) {
    return state == ListenState::kJoined || state == ListenState::kReceiving ||
           state == ListenState::kUnicast;
  }
  void leave(ListenState state) {
    if (state == ListenState::kReceiving) --hearing_;
    if (is_in_group(state)) --members_;
  }
  void try_at(Time time) {
    retry_at_ = time;
    quiet_until_.reset();
  }

  Duration patience_;
  Duration trial_;
  BackOff wait_;
  std::size_t members_ = 0;  // receivers that joined the group
  std::size_t hearing_ = 0;  // of these, those that hear it
  Time retry_at_{};          // the end of a pause
  Time paused_at_{};
  std::optional<Time> quiet_until_;  // if nobody hears the group until then, it pauses
  std::uint64_t pauses_ = 0;
};

}  // namespace sheaf::quic
