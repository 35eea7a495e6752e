#pragma once

#include <optional>

#include "congestion/controller.h"

namespace sheaf::quic {

// Sends at a rate that its owner knows from another source: a tunnel whose outer connection is
// congestion controlled, a credit lease, a multicast source. Loss does not slow it down; the owner
// learns of losses in other ways. Only a path that delivers nothing slows it down (RFC 9002 §7.6):
// to two datagrams, and more as they arrive.
// An owner that counts what left the bottleneck may grant credit in place of the window.
class OutsideRate final : public CongestionController {
 public:
  explicit OutsideRate(const CongestionConfig& config);

  void on_packet_sent(Time now, PacketNumber number, std::uint64_t bytes,
                      std::uint64_t bytes_in_flight) override;
  void on_acknowledgement(const AckSample& sample) override;
  void on_congestion(const LossSample& sample) override;
  void on_spurious_congestion(Time) override { backs_off_ = false; }
  void on_mtu_change(std::uint64_t max_datagram_size) override { datagram_ = max_datagram_size; }
  void set_outside_rate(std::uint64_t bytes_per_second) override { rate_ = bytes_per_second; }
  void set_outside_credit(std::uint64_t bytes) override { credit_ = bytes; }
  std::uint64_t window() const override;
  std::uint64_t pacing_rate() const override { return rate_; }
  bool in_slow_start() const override { return backs_off_; }
  const char* name() const override { return "outside_rate"; }

 private:
  std::uint64_t full_window() const;
  std::uint64_t minimum_window() const { return 2 * datagram_; }

  std::uint64_t datagram_;
  std::uint64_t initial_window_;
  std::uint64_t rate_ = 0;
  Duration round_trip_ =
      std::chrono::milliseconds(333);  // RFC 9002 §6.2.2, until there is a sample
  std::uint64_t reduced_window_ = 0;   // while it backs off
  bool backs_off_ = false;
  std::uint64_t in_flight_ = 0;
  std::optional<std::uint64_t> credit_;  // bytes that may still be sent
};

}  // namespace sheaf::quic
