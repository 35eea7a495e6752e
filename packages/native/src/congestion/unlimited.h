#pragma once

#include "congestion/controller.h"

namespace sheaf::quic {

// No control at all, for isolated benchmarks, and for links with a control of their own
class Unlimited final : public CongestionController {
 public:
  void on_packet_sent(Time, PacketNumber, std::uint64_t, std::uint64_t) override {}
  void on_acknowledgement(const AckSample&) override {}
  void on_congestion(const LossSample&) override {}
  void on_spurious_congestion(Time) override {}
  void on_mtu_change(std::uint64_t) override {}
  std::uint64_t window() const override { return k_unlimited; }
  std::uint64_t pacing_rate() const override { return k_unlimited; }
  bool in_slow_start() const override { return false; }
  const char* name() const override { return "none"; }
};

}  // namespace sheaf::quic
