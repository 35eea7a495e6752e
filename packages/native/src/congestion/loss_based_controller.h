#pragma once

#include <optional>

#include "congestion/controller.h"
#include "congestion/hystart.h"

namespace sheaf::quic {

// The common part of controllers that respond to loss (RFC 9002 §7.3): slow start, recovery
// periods, the minimum window, and the return to the old window after spurious losses. A derived
// class decides how the window grows and shrinks.
class LossBasedController : public CongestionController {
 public:
  explicit LossBasedController(const CongestionConfig& config);

  void on_packet_sent(Time now, PacketNumber number, std::uint64_t bytes,
                      std::uint64_t bytes_in_flight) override;
  void on_acknowledgement(const AckSample& sample) override;
  void on_congestion(const LossSample& sample) override;
  void on_spurious_congestion(Time now) override;
  void on_mtu_change(std::uint64_t max_datagram_size) override;
  void set_detour(double factor) override { detour_ = factor; }
  std::uint64_t window() const override { return static_cast<std::uint64_t>(window_ * detour_); }
  std::uint64_t pacing_rate() const override { return 0; }
  bool in_slow_start() const override { return window_ < threshold_; }

 protected:
  // Returns the window in congestion avoidance after this acknowledgement.
  virtual double grown_window(const AckSample& sample) = 0;
  // Returns the window, and the slow start threshold, after a congestion event.
  virtual double reduced_window() = 0;
  // Called after a pause in which the window was not used.
  virtual void on_pause(Duration pause) { static_cast<void>(pause); }
  // Called when congestion avoidance starts again.
  virtual void on_restart() {}
  // `on_undo` restores the state that `on_remember` saved.
  virtual void on_remember() {}
  virtual void on_undo() {}

  // Returns the window without the detour. It has fractions of a byte, since a large window grows
  // by less than one byte per packet.
  double current_window() const { return window_; }
  // Returns the round trip without the detour.
  Duration round_trip(const AckSample& sample) const {
    return std::chrono::duration_cast<Duration>(sample.smoothed_rtt / detour_);
  }
  double datagram_size() const { return datagram_size_; }

 private:
  struct Undo {
    double window = 0;
    double threshold = 0;
  };

  double minimum_window() const { return 2 * datagram_size_; }  // RFC 9002 §7.2
  void pause(Time now);
  void grow_in_slow_start(const AckSample& sample);

  // With a detour, the bytes acknowledged in a time are those of a window that is as much smaller
  // as round trips would be shorter. So that one is kept here, and no rule of its growth knows of
  // the detour.
  double datagram_size_;
  double window_;
  double threshold_;
  double detour_ = 1;
  HyStart hystart_;
  Time recovery_start_ = Time::min();
  Time counted_until_ = Time::min();  // pauses up to here were reported
  std::optional<Undo> undo_;
};

}  // namespace sheaf::quic
