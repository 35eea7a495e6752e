#pragma once

#include <algorithm>

#include "util/time.h"

namespace sheaf::quic {

// kGranularity of RFC 9002 §6.1.2: no timer is armed for less.
inline constexpr Duration k_timer_granularity = std::chrono::milliseconds(1);

// RTT estimation (RFC 9002 §5).
class RttEstimator {
 public:
  explicit RttEstimator(Duration initial = std::chrono::milliseconds(333));
  // `ack_delay` is the delay that the peer reported; `max_ack_delay` bounds it once the handshake
  // is confirmed.
  void add_sample(Duration latest, Duration ack_delay, Duration max_ack_delay,
                  bool handshake_confirmed);
  // Sets the estimate taken during a handshake; the first own sample replaces it.
  void set_initial(Duration initial);
  // RFC 9002 §5.2: the path may have changed, so the newest sample becomes the minimum.
  void on_persistent_congestion() { minimum_ = latest_; }

  bool has_sample() const { return has_sample_; }
  Duration latest() const { return latest_; }
  Duration minimum() const { return minimum_; }
  Duration smoothed() const { return smoothed_; }
  Duration variance() const { return variance_; }
  // The probe timeout of RFC 9002 §6.2.1, without backoff.
  Duration probe_timeout(Duration max_ack_delay) const {
    return smoothed_ + std::max(4 * variance_, k_timer_granularity) + max_ack_delay;
  }
  // The time threshold of RFC 9002 §6.1.2: 9/8 of the larger of the smoothed and the latest RTT.
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
