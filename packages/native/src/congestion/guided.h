#pragma once

#include <memory>

#include "congestion/outside_rate.h"

namespace sheaf::quic {

// What is known from outside about what a path can take
struct Guidance {
  Time now{};
  Time until{};
  std::uint64_t rate = 0;   // bytes per second
  std::uint64_t bytes = 0;  // that may be sent beyond what is in flight
};

// A controller that keeps within what a tunnel on the path can take, as the peer reports it, and
// within what it would send by itself. So a report that lies gains nothing, and a network without
// news is an ordinary one: guidance ends by itself.
class GuidedController final : public CongestionController {
 public:
  // `own` may have sent before.
  GuidedController(std::unique_ptr<CongestionController> own, std::uint64_t max_datagram_size)
      : own_(std::move(own)),
        guide_({.max_datagram_size = max_datagram_size}),
        datagram_(max_datagram_size) {}

  void set_guidance(const Guidance& guidance);
  void on_packet_sent(Time now, PacketNumber number, std::uint64_t bytes,
                      std::uint64_t bytes_in_flight) override;
  void on_acknowledgement(const AckSample& sample) override;
  void on_packet_lost(const LostPacket& packet) override { own_->on_packet_lost(packet); }
  void on_congestion(const LossSample& sample) override;
  void on_spurious_congestion(Time now) override;
  void on_mtu_change(std::uint64_t max_datagram_size) override;
  void set_detour(double factor) override { own_->set_detour(factor); }
  void on_path_abandoned() override { own_->on_path_abandoned(); }
  std::uint64_t window() const override;
  std::uint64_t pacing_rate() const override;
  bool in_slow_start() const override { return own_->in_slow_start(); }
  const char* name() const override { return own_->name(); }

 private:
  bool guided() const { return now_ < until_; }
  std::uint64_t guided_window() const;

  std::unique_ptr<CongestionController> own_;
  OutsideRate guide_;
  std::uint64_t datagram_;
  Time now_{};
  Time until_{};
  Duration round_trip_{};  // zero: unknown
  bool limits_ = false;    // guidance permitted less than the controller would
};

}  // namespace sheaf::quic
