#pragma once

#include "util/time.h"

namespace sheaf::quic::bbr {

// The shortest round trip of the last ten seconds (draft-ietf-ccwg-bbr §5.5.7), an estimate of the
// path without queues
class MinimumRttFilter {
 public:
  // `rtt` is zero when there is no sample.
  void on_acknowledgement(Duration rtt, Time now) {
    if (since_ == k_never) since_ = now;
    if (rtt <= Duration::zero() || (known() && rtt >= minimum_ && !expired(now))) return;
    minimum_ = rtt;
    since_ = now;
  }
  // Extends the estimate by another window, since the path was just seen without a queue.
  void renew(Time now) { since_ = now; }
  // Whether the next sample replaces the estimate, however large it is
  bool expired(Time now) const { return since_ != k_never && now - since_ > k_window; }
  bool known() const { return minimum_ > Duration::zero(); }
  Duration minimum() const { return minimum_; }
  double seconds() const { return to_seconds(minimum_); }

 private:
  static constexpr Duration k_window = std::chrono::seconds(10);

  Duration minimum_ = Duration::zero();
  Time since_ = k_never;
};

}  // namespace sheaf::quic::bbr
