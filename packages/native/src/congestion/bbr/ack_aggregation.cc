#include "congestion/bbr/ack_aggregation.h"

#include <algorithm>

namespace sheaf::quic::bbr {

void AckAggregation::restart(Time now) {
  start_ = now;
  delivered_ = 0;
}

void AckAggregation::on_acknowledgement(const Acknowledged& acknowledged) {
  maxima_.advance(acknowledged.round);
  const double elapsed = to_seconds(acknowledged.now - start_);
  double expected = acknowledged.rate * elapsed;
  if (delivered_ <= expected) {
    restart(acknowledged.now);
    expected = 0;
  }
  delivered_ += static_cast<double>(acknowledged.bytes);
  maxima_.add(std::min(delivered_ - expected, acknowledged.window));
}

}  // namespace sheaf::quic::bbr
