#pragma once

#include <cstdint>
#include <optional>

#include "support/receivers/receiver_model.h"

namespace sheaf::quic {

// Implementations that remember the last numbers as a window of bits: Cloudflare's quiche
// (PktNumWindow), aioquic (recovery.py), quinn (Dedup) and s2n-quic (sliding_window.rs). What lies
// below the window is refused. ACKs follow the recommendations of RFC 9000 §13.2.
class WindowReceiver final : public ReceiverModel {
 public:
  static constexpr std::size_t k_max_ranges = 64;

  // `window` counts numbers, with the largest: 128, or 129 for quinn and s2n-quic.
  explicit WindowReceiver(std::uint64_t window = 128) : window_(window) {}

  const char* name() const override { return window_ == 128 ? "window128" : "window129"; }
  bool receive(PacketNumber number, bool ack_eliciting, Time now) override;
  std::vector<AckRange> acknowledge(Time now) override;
  void on_ack_acknowledged(std::span<const AckRange> reported) override;
  std::size_t ranges() const override { return unconfirmed_.size(); }

 private:
  std::uint64_t window_;
  IntervalSet seen_;         // of the window
  IntervalSet unconfirmed_;  // what ACKs report
  std::optional<PacketNumber> largest_;
};

}  // namespace sheaf::quic
