#pragma once

#include <cstdint>

#include "sim/receivers/reporting_receiver.h"

namespace sheaf::quic {

// Implementations that remember the last numbers as a window of bits: Cloudflare's quiche
// (PktNumWindow), aioquic (recovery.py), quinn (Dedup) and s2n-quic (sliding_window.rs). What lies
// below the window is refused. ACKs follow the recommendations of RFC 9000 §13.2.
class WindowReceiver final : public ReportingReceiver {
 public:
  static constexpr std::size_t k_max_ranges = 64;

  // `window` counts numbers, with the largest: 128, or 129 for quinn and s2n-quic.
  explicit WindowReceiver(std::uint64_t window = 128)
      : ReportingReceiver(k_max_ranges), window_(window) {}

  const char* name() const override { return window_ == 128 ? "window128" : "window129"; }
  bool receive(PacketNumber number, bool ack_eliciting, Time now) override;

 private:
  std::uint64_t window_;
};

}  // namespace sheaf::quic
