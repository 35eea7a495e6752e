#include "congestion/loss_based_controller.h"

#include <algorithm>
#include <limits>

namespace sheaf::quic {

LossBasedController::LossBasedController(const CongestionConfig& config)
    : datagram_size_(static_cast<double>(config.max_datagram_size)),
      window_(datagram_size_ * static_cast<double>(config.initial_window_packets)),
      threshold_(std::numeric_limits<double>::infinity()) {}

void LossBasedController::on_packet_sent(Time now, PacketNumber number, std::uint64_t bytes,
                                         std::uint64_t bytes_in_flight) {
  hystart_.on_packet_sent(number);
  if (bytes_in_flight == bytes) pause(now);  // the first packet after silence
}

void LossBasedController::pause(Time now) {
  if (counted_until_ != Time::min()) on_pause(now - counted_until_);
  counted_until_ = now;
}

void LossBasedController::on_acknowledgement(const AckSample& sample) {
  // RFC 9002 §7.8: a window that is not used is not tested, so it does not grow.
  if (sample.application_limited) return pause(sample.now);
  counted_until_ = sample.now;
  // RFC 9002 §7.3.2: the window does not grow until a packet that was sent after the response is
  // acknowledged.
  if (sample.largest_time_sent <= recovery_start_) return;
  if (in_slow_start()) {
    grow_in_slow_start(sample);
  } else {
    window_ = std::max(minimum_window(), grown_window(sample));
  }
  window_ = std::min(window_, static_cast<double>(k_max_congestion_window));
}

void LossBasedController::grow_in_slow_start(const AckSample& sample) {
  const bool over = hystart_.on_acknowledgement(sample.largest_acknowledged, sample.smallest_rtt,
                                                sample.rtt_samples);
  const std::uint64_t growth = sample.acknowledged_bytes / hystart_.growth_divisor();
  window_ += static_cast<double>(growth);
  if (!over) return;
  threshold_ = window_;
  hystart_.stop();
  on_restart();
}

void LossBasedController::on_congestion(const LossSample& sample) {
  if (sample.largest_lost_time_sent > recovery_start_) {
    undo_.reset();
    if (!sample.ecn) {
      undo_ = {window_, threshold_};
      on_remember();
    }
    hystart_.stop();
    recovery_start_ = sample.now;
    threshold_ = std::max(reduced_window(), minimum_window());
    window_ = threshold_;
    on_restart();
  }
  if (!sample.persistent) return;
  // RFC 9002 §7.6.2: minimum window, and slow start again.
  undo_.reset();
  window_ = minimum_window();
  recovery_start_ = Time::min();
  on_restart();
}

void LossBasedController::on_spurious_congestion(Time) {
  if (!undo_) return;
  threshold_ = undo_->threshold;
  window_ = std::max(window_, undo_->window);
  undo_.reset();
  on_undo();
}

void LossBasedController::on_mtu_change(std::uint64_t max_datagram_size) {
  datagram_size_ = static_cast<double>(max_datagram_size);
  window_ = std::max(window_, minimum_window());
}

}  // namespace sheaf::quic
