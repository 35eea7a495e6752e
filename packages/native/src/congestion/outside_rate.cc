#include "congestion/outside_rate.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

// The pacer limits, and not the window: twice what the rate sends in a round trip leaves room for
// late acknowledgements.
constexpr double k_margin = 2;

}  // namespace

OutsideRate::OutsideRate(const CongestionConfig& config)
    : datagram_(config.max_datagram_size),
      initial_window_(config.initial_window_packets * config.max_datagram_size) {}

std::uint64_t OutsideRate::full_window() const {
  const double bytes = k_margin * static_cast<double>(rate_) * to_seconds(round_trip_);
  return std::clamp(
      static_cast<std::uint64_t>(std::min(bytes, static_cast<double>(k_max_congestion_window))),
      std::max(initial_window_, minimum_window()), k_max_congestion_window);
}

std::uint64_t OutsideRate::window() const {
  if (credit_) return in_flight_ + *credit_;
  return backs_off_ ? std::max(reduced_window_, minimum_window()) : full_window();
}

void OutsideRate::on_packet_sent(Time, PacketNumber, std::uint64_t bytes,
                                 std::uint64_t bytes_in_flight) {
  in_flight_ = bytes_in_flight;
  if (credit_) *credit_ -= std::min(bytes, *credit_);
}

void OutsideRate::on_acknowledgement(const AckSample& sample) {
  in_flight_ = sample.bytes_in_flight;
  if (sample.smoothed_rtt > Duration::zero()) round_trip_ = sample.smoothed_rtt;
  if (!backs_off_) return;
  reduced_window_ += sample.acknowledged_bytes;
  backs_off_ = reduced_window_ < full_window();
}

void OutsideRate::on_congestion(const LossSample& sample) {
  in_flight_ = sample.bytes_in_flight;
  if (!sample.persistent) return;
  if (credit_) credit_ = 0;  // until the owner hears that something arrived
  backs_off_ = true;
  reduced_window_ = minimum_window();
}

}  // namespace sheaf::quic
