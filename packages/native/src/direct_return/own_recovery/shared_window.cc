#include "direct_return/own_recovery/shared_window.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

CongestionConfig loss_based(CongestionConfig config) {
  if (config.algorithm != CongestionAlgorithm::kNewReno) {
    config.algorithm = CongestionAlgorithm::kCubic;
  }
  return config;
}

}  // namespace

SharedWindow::SharedWindow(const CongestionConfig& config)
    : config_(loss_based(config)), controller_(make_congestion_controller(config_)) {}

void SharedWindow::open(PathId path) { senders_[path]; }

void SharedWindow::close(PathId path) { senders_.erase(path); }

void SharedWindow::expect(PathId path) { senders_[path].wants = true; }

void SharedWindow::rest(PathId path) { senders_[path].wants = false; }

void SharedWindow::restart() {
  controller_ = make_congestion_controller(config_);
  ++epoch_;
}

std::uint64_t SharedWindow::in_flight() const {
  std::uint64_t bytes = 0;
  for (const auto& [id, sender] : senders_) bytes += sender.state.in_flight;
  return bytes;
}

bool SharedWindow::on_state(PathId path, const SenderState& state, Time now) {
  const auto known = senders_.find(path);
  if (known == senders_.end()) return false;
  Sender& sender = known->second;
  const SenderState before = sender.state;
  if (state.next < before.next || state.delivered < before.delivered) return false;
  const std::uint64_t window = controller_->window();
  const std::uint32_t epoch = epoch_;
  const bool wanted = sender.wants;
  sender.state = state;
  sender.wants = state.wants;
  if (state.next > before.next) {
    sent_ += state.next - before.next;
    controller_->on_packet_sent(now, sent_ - 1, config_.max_datagram_size, in_flight());
  }
  note_congestion(state, now);
  note_delivery(before, state, now);
  return epoch_ != epoch || sender.wants != wanted || controller_->window() != window;
}

void SharedWindow::note_congestion(const SenderState& state, Time now) {
  if (state.congested_epoch != epoch_) return;
  controller_->on_congestion({.now = now,
                              .lost_bytes = state.congested_by_mark ? 0 : config_.max_datagram_size,
                              .bytes_in_flight = in_flight(),
                              .largest_lost = sent_,
                              .largest_lost_time_sent = now,
                              .persistent = state.persistent,
                              .ecn = state.congested_by_mark});
  ++epoch_;
}

void SharedWindow::note_delivery(const SenderState& before, const SenderState& state, Time now) {
  const std::uint64_t bytes = state.delivered - before.delivered;
  if (bytes == 0) return;
  acknowledged_ +=
      std::max(state.acknowledged_end, before.acknowledged_end) - before.acknowledged_end;
  // A way that is longer than others says nothing about queues.
  Duration nearest = Duration::max();
  for (const auto& [id, sender] : senders_) {
    if (sender.state.minimum_rtt > Duration{}) {
      nearest = std::min(nearest, sender.state.minimum_rtt);
    }
  }
  const bool measured = state.minimum_rtt > Duration{};
  const Duration longer = measured ? state.minimum_rtt - nearest : Duration{};
  const std::uint64_t in_flight_now = in_flight();
  controller_->on_acknowledgement(
      {.now = now,
       .acknowledged_bytes = bytes,
       .bytes_in_flight_before = in_flight_now + bytes,
       .bytes_in_flight = in_flight_now,
       .largest_acknowledged = acknowledged_ == 0 ? 0 : acknowledged_ - 1,
       .largest_time_sent = state.acknowledged_epoch == epoch_ ? now : Time::min(),
       .smallest_rtt = measured ? state.latest_rtt - longer : Duration{},
       .rtt_samples = measured ? 1u : 0u,
       .min_rtt = measured ? nearest : Duration{},
       .smoothed_rtt = measured ? state.smoothed_rtt : Duration{},
       .application_limited = !state.limited});
}

std::uint64_t SharedWindow::share(PathId path) const {
  std::uint64_t wanting = 0;
  // In flight, of those that want nothing, and of the gateway
  std::uint64_t of_others = own_in_flight_;
  for (const auto& [id, sender] : senders_) {
    if (sender.wants) {
      ++wanting;
    } else if (id != path) {
      of_others += sender.state.in_flight;
    }
  }
  const auto own = senders_.find(path);
  const bool wants = own != senders_.end() && own->second.wants;
  const std::uint64_t window = controller_->window();
  const std::uint64_t left = window - std::min(window / 2, of_others);
  return left / std::max<std::uint64_t>(wants ? wanting : wanting + 1, 1);
}

}  // namespace sheaf::quic
