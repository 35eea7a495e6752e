#pragma once

#include "congestion/loss_based_controller.h"

namespace sheaf::quic {

// NewReno (RFC 9002 §7.3)
class NewReno final : public LossBasedController {
 public:
  using LossBasedController::LossBasedController;
  const char* name() const override { return "new_reno"; }

 private:
  // RFC 9002 §7.3.3: one datagram for each acknowledged window
  double grown_window(const AckSample& sample) override {
    return current_window() +
           datagram_size() * static_cast<double>(sample.acknowledged_bytes) / current_window();
  }
  // RFC 9002 §7.3.2
  double reduced_window() override { return current_window() / 2; }
};

}  // namespace sheaf::quic
