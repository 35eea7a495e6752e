#include "congestion/hystart.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

// Constants of RFC 9406 §4.3
constexpr Duration k_minimum_threshold = std::chrono::milliseconds(4);
constexpr Duration k_maximum_threshold = std::chrono::milliseconds(16);
constexpr int k_threshold_divisor = 8;
constexpr std::uint32_t k_round_samples = 8;
constexpr std::uint32_t k_conservative_rounds = 5;

}  // namespace

void HyStart::start_round() {
  round_end_ = last_sent_ + 1;  // the first packet that is sent in the new round
  last_round_minimum_ = round_minimum_;
  round_minimum_ = Duration::max();
  samples_ = 0;
}

bool HyStart::on_acknowledgement(PacketNumber largest, Duration rtt, std::uint32_t samples) {
  if (!active_) return false;
  if (samples > 0) {
    round_minimum_ = std::min(round_minimum_, rtt);
    samples_ += samples;
  }
  if (conservative_) {
    if (samples_ >= k_round_samples && round_minimum_ < baseline_) {
      // The growth was only jitter.
      conservative_ = false;
      baseline_ = Duration::max();
    }
  } else if (samples_ >= k_round_samples && last_round_minimum_ != Duration::max()) {
    const Duration threshold = std::clamp(last_round_minimum_ / k_threshold_divisor,
                                          k_minimum_threshold, k_maximum_threshold);
    if (round_minimum_ >= last_round_minimum_ + threshold) {
      conservative_ = true;
      baseline_ = round_minimum_;
      conservative_rounds_ = 0;
    }
  }
  if (largest < round_end_) return false;
  start_round();
  return conservative_ && ++conservative_rounds_ >= k_conservative_rounds;
}

}  // namespace sheaf::quic
