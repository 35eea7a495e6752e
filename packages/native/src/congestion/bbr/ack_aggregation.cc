#include "congestion/bbr/ack_aggregation.h"

#include <algorithm>

namespace sheaf::quic::bbr {

void AckAggregation::restart(Time now) {
  start_ = now;
  delivered_ = 0;
}

void AckAggregation::advance(std::uint64_t round) {
  const std::uint64_t passed = std::min(round - round_, k_rounds);
  for (std::uint64_t i = 1; i <= passed; ++i) maxima_[(round_ + i) % k_rounds] = 0;
  round_ = round;
}

void AckAggregation::on_acknowledgement(const Acknowledged& acknowledged) {
  advance(acknowledged.round);
  const double elapsed = to_seconds(acknowledged.now - start_);
  double expected = acknowledged.rate * elapsed;
  if (delivered_ <= expected) {
    restart(acknowledged.now);
    expected = 0;
  }
  delivered_ += static_cast<double>(acknowledged.bytes);
  double& maximum = maxima_[round_ % k_rounds];
  maximum = std::max(maximum, std::min(delivered_ - expected, acknowledged.window));
}

double AckAggregation::maximum(std::uint64_t rounds) const {
  double maximum = 0;
  for (std::uint64_t i = 0; i < std::min({rounds, k_rounds, round_ + 1}); ++i) {
    maximum = std::max(maximum, maxima_[(round_ - i) % k_rounds]);
  }
  return maximum;
}

}  // namespace sheaf::quic::bbr
