#pragma once

#include "direct_return/arrival_order.h"
#include "sim/receivers/shared_numbers.h"

namespace sheaf::quic {

// Runs of SharedNumbers that wait as ArrivalOrder says. Its sender 0 is the nearest backend.
class EqualisedRuns final : public RunTiming {
 public:
  explicit EqualisedRuns(std::size_t backends, bool own_packets_wait = true)
      : backends_(backends), own_packets_wait_(own_packets_wait) {}

  Duration wait(std::size_t sender, Time now) override {
    if (sender == backends_) {
      return own_packets_wait_ ? order_.wait(ArrivalOrder::k_gateway, now) : Duration{};
    }
    const auto known = static_cast<ArrivalOrder::Sender>(sender + 1);
    order_.on_numbered(known, now);
    return order_.wait(known, now);
  }
  void on_sample(std::size_t sender, Duration round_trip, Time now) override {
    order_.on_sample(static_cast<ArrivalOrder::Sender>(sender + 1), round_trip, now);
  }

 private:
  std::size_t backends_;
  bool own_packets_wait_;
  ArrivalOrder order_;
};

}  // namespace sheaf::quic
