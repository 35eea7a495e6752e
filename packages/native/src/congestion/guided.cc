#include "congestion/guided.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

// Something is always in flight, so that acknowledgements tell when guidance is over.
constexpr std::uint64_t k_least_packets = 2;
// As the pacer does for controllers without a rate of their own (RFC 9002 §7.7)
constexpr double k_slow_start_margin = 2;

}  // namespace

void GuidedController::set_guidance(const Guidance& guidance) {
  now_ = std::max(now_, guidance.now);
  until_ = guidance.until;
  guide_.set_outside_rate(guidance.rate);
  guide_.set_outside_credit(guidance.bytes);
}

std::uint64_t GuidedController::guided_window() const {
  return std::max(guide_.window(), k_least_packets * datagram_);
}

std::uint64_t GuidedController::window() const {
  return guided() ? std::min(own_->window(), guided_window()) : own_->window();
}

std::uint64_t GuidedController::pacing_rate() const {
  std::uint64_t own = own_->pacing_rate();
  if (!guided()) return own;
  if (own == 0 && round_trip_ > Duration::zero()) {
    const double bytes = k_slow_start_margin * static_cast<double>(own_->window());
    own = static_cast<std::uint64_t>(bytes / to_seconds(round_trip_));
  }
  // As the window: never less than two packets in a round trip, or nothing would tell the time.
  const double least =
      round_trip_ > Duration::zero()
          ? static_cast<double>(k_least_packets * datagram_) / to_seconds(round_trip_)
          : 0;
  const std::uint64_t guided = std::max(guide_.pacing_rate(), static_cast<std::uint64_t>(least));
  return own == 0 ? 0 : std::min(own, guided);
}

void GuidedController::on_packet_sent(Time now, PacketNumber number, std::uint64_t bytes,
                                      std::uint64_t bytes_in_flight) {
  now_ = std::max(now_, now);
  limits_ = guided() && guided_window() < own_->window();
  own_->on_packet_sent(now, number, bytes, bytes_in_flight);
  guide_.on_packet_sent(now, number, bytes, bytes_in_flight);
}

// A window that was not in use must not grow (RFC 9002 §7.8): guidance may end at any time.
void GuidedController::on_acknowledgement(const AckSample& sample) {
  now_ = std::max(now_, sample.now);
  if (sample.smoothed_rtt > Duration::zero()) round_trip_ = sample.smoothed_rtt;
  AckSample own = sample;
  own.application_limited = own.application_limited || limits_;
  own.delivery_rate_application_limited = own.delivery_rate_application_limited || limits_;
  own_->on_acknowledgement(own);
  guide_.on_acknowledgement(sample);
}

void GuidedController::on_congestion(const LossSample& sample) {
  now_ = std::max(now_, sample.now);
  own_->on_congestion(sample);
  guide_.on_congestion(sample);
}

void GuidedController::on_spurious_congestion(Time now) {
  own_->on_spurious_congestion(now);
  guide_.on_spurious_congestion(now);
}

void GuidedController::on_mtu_change(std::uint64_t max_datagram_size) {
  datagram_ = max_datagram_size;
  own_->on_mtu_change(max_datagram_size);
  guide_.on_mtu_change(max_datagram_size);
}

}  // namespace sheaf::quic
