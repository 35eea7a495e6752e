#pragma once

#include <algorithm>

#include "util/time.h"

namespace sheaf::quic {

// RFC 9002 §6.1.2: no timer is armed for less.
inline constexpr Duration k_timer_granularity = std::chrono::milliseconds(1);

// RFC 9002 §5.
class RttEstimator {
 public:
  explicit RttEstimator(Duration initial = std::chrono::milliseconds(333));
  // `ack_delay` as the peer said it; it is bounded by `max_ack_delay` once the handshake is
  // confirmed.
  void add_sample(Duration latest, Duration ack_delay, Duration max_ack_delay,
                  bool handshake_confirmed);
  // The estimate of a handshake; replaced by the first own sample.
  void set_initial(Duration initial);
  // RFC 9002 §5.2: the path may have changed, so the newest sample becomes the minimum.
  void on_persistent_congestion() { minimum_ = latest_; }

  bool has_sample() const { return has_sample_; }
  Duration latest() const { return latest_; }
  Duration minimum() const { return minimum_; }
  Duration smoothed() const { return smoothed_; }
  Duration variance() const { return variance_; }
  // RFC 9002 §6.2.1, without backoff.
  Duration probe_timeout(Duration max_ack_delay) const {
    return smoothed_ + std::max(4 * variance_, k_timer_granularity) + max_ack_delay;
  }
  // RFC 9002 §6.1.2: 9/8 of the larger of both estimates.
  Duration loss_delay() const {
    return std::max(std::max(smoothed_, latest_) * 9 / 8, k_timer_granularity);
  }

 private:
  bool has_sample_ = false;
  Duration latest_{};
  Duration minimum_{};
  Duration smoothed_{};
  Duration variance_{};
};

}  // namespace sheaf::quic
