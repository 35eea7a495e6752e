#include "recovery/rtt_estimator.h"

namespace sheaf::quic {

RttEstimator::RttEstimator(Duration initial) { set_initial(initial); }

void RttEstimator::set_initial(Duration initial) {
  if (has_sample_) return;
  smoothed_ = initial;
  variance_ = initial / 2;
}

void RttEstimator::add_sample(Duration latest, Duration ack_delay, Duration max_ack_delay,
                              bool handshake_confirmed) {
  latest_ = std::max(latest, Duration(1));
  if (!has_sample_) {
    has_sample_ = true;
    minimum_ = latest_;
    smoothed_ = latest_;
    variance_ = latest_ / 2;
    return;
  }
  // RFC 9002 §5.2: the minimum disregards the delay that the peer reports.
  minimum_ = std::min(minimum_, latest_);
  if (handshake_confirmed) ack_delay = std::min(ack_delay, max_ack_delay);
  // RFC 9002 §5.3: a delay that would push the sample below the minimum is not subtracted. The two
  // are compared as a difference, so that an absurd delay cannot overflow.
  const bool plausible = ack_delay >= Duration::zero() && latest_ - minimum_ >= ack_delay;
  const Duration adjusted = plausible ? latest_ - ack_delay : latest_;
  const Duration deviation = adjusted > smoothed_ ? adjusted - smoothed_ : smoothed_ - adjusted;
  variance_ = (3 * variance_ + deviation) / 4;
  smoothed_ = (7 * smoothed_ + adjusted) / 8;
}

}  // namespace sheaf::quic
