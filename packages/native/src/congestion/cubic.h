#pragma once

#include <optional>

#include "congestion/loss_based_controller.h"

namespace sheaf::quic {

// CUBIC (RFC 9438), in bytes instead of segments
class Cubic final : public LossBasedController {
 public:
  using LossBasedController::LossBasedController;
  const char* name() const override { return "cubic"; }

 private:
  // The curve of one congestion avoidance phase
  struct Epoch {
    Time start;
    double k_seconds = 0;           // until the curve is back at `maximum`
    double maximum = 0;             // W_max
    double reno_estimate = 0;       // W_est
    double reno_window_before = 0;  // cwnd_prior; beyond it Reno grows at full speed
  };

  double grown_window(const AckSample& sample) override;
  double reduced_window() override;
  void on_pause(Duration pause) override;
  void on_restart() override { epoch_.reset(); }
  void on_remember() override { remembered_ = {maximum_, window_before_, epoch_}; }
  void on_undo() override;

  void start_epoch(Time now);
  double curve(const Epoch& epoch, Duration elapsed) const;

  struct Remembered {
    double maximum = 0;
    double window_before = 0;
    std::optional<Epoch> epoch;
  };

  double maximum_ = 0;        // W_max of the last congestion event
  double window_before_ = 0;  // window at the last congestion event
  std::optional<Epoch> epoch_;
  Remembered remembered_;
};

}  // namespace sheaf::quic
