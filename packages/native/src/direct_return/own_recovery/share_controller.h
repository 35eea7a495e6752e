#pragma once

#include <algorithm>

#include "congestion/controller.h"

namespace sheaf::quic {

// Congestion control of one backend of a connection: its window is the share that the gateway tells
// it (direct_return/own_recovery/shared_window.h). It responds to congestion at once and notes it,
// until the gateway has lowered the window of all.
class ShareController final : public CongestionController {
 public:
  ShareController(std::uint64_t share, std::uint64_t datagram)
      : share_(share), reduced_(share), datagram_(datagram) {}

  // Another host, another way: begins anew with a share, and goes on with totals and epochs. What
  // was sent before calls for no response (RFC 9000 §9.4).
  void restart(std::uint64_t share, Time now) {
    share_ = reduced_ = share;
    epoch_known_at_ = now;
    persistent_ = false;
  }
  // `epoch` counts how often the gateway lowered the window of all.
  void tell(std::uint64_t share, std::uint32_t epoch, bool slow_start, Time now) {
    if (epoch > epoch_) {
      epoch_ = epoch;
      epoch_known_at_ = now;
    }
    share_ = share;
    slow_start_ = slow_start;
    if (congested_epoch_ != epoch_) reduced_ = share;
  }

  void on_packet_sent(Time, PacketNumber, std::uint64_t, std::uint64_t) override {}
  void on_acknowledgement(const AckSample& sample) override {
    delivered_ += sample.acknowledged_bytes;
    if (sample.largest_time_sent >= epoch_known_at_) acknowledged_epoch_ = epoch_;
  }
  // RFC 9002 §7.3.2: what was sent before the last response calls for no other one.
  void on_congestion(const LossSample& sample) override {
    if (sample.largest_lost_time_sent < epoch_known_at_ && !sample.persistent) return;
    if (congested_epoch_ != epoch_) {
      reduced_ = static_cast<std::uint64_t>(k_factor * static_cast<double>(share_));
      by_mark_ = sample.ecn;
      persistent_ = false;
    }
    congested_epoch_ = epoch_;
    if (!sample.persistent) return;
    persistent_ = true;
    reduced_ = 0;
  }
  void on_spurious_congestion(Time) override {}
  void on_mtu_change(std::uint64_t datagram) override { datagram_ = datagram; }
  std::uint64_t window() const override {
    return std::max(std::min(share_, reduced_), 2 * datagram_);  // RFC 9002 §7.2
  }
  std::uint64_t pacing_rate() const override { return 0; }
  bool in_slow_start() const override { return slow_start_; }
  const char* name() const override { return "share"; }

  std::uint64_t delivered() const { return delivered_; }  // bytes
  std::uint32_t acknowledged_epoch() const { return acknowledged_epoch_; }
  std::uint32_t congested_epoch() const { return congested_epoch_; }
  bool congested_by_mark() const { return by_mark_; }
  bool persistent() const { return persistent_; }

 private:
  static constexpr double k_factor = 0.7;  // of CUBIC (RFC 9438 §4.6)

  std::uint64_t share_;
  std::uint64_t reduced_;
  std::uint64_t datagram_;
  bool slow_start_ = true;
  std::uint32_t epoch_ = 1;
  Time epoch_known_at_ = Time::min();
  std::uint64_t delivered_ = 0;
  std::uint32_t acknowledged_epoch_ = 0;
  std::uint32_t congested_epoch_ = 0;  // 0: none
  bool by_mark_ = false;
  bool persistent_ = false;
};

}  // namespace sheaf::quic
