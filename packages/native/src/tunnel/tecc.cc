#include "tunnel/tecc.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

constexpr Duration k_shortest_round_trip = std::chrono::milliseconds(1);
constexpr double k_max_rate = 1e12;  // bytes per second

}  // namespace

double Tecc::excess(const FeedbackReport& report, Duration round_trip) const {
  const double rate = static_cast<double>(report.rate);
  const double again = report.packets_sent == 0 ? 0
                                                : static_cast<double>(report.packets_repeated) /
                                                      static_cast<double>(report.packets_sent);
  const double seconds =
      config_.units == TeccConfig::Units::kLiteral ? 1 : to_seconds(report.tunnel_round_trip);
  const double drained = config_.drain_share * to_seconds(round_trip) * rate;
  return (static_cast<double>(report.least_queue) +
          config_.lasting_share * again * rate * seconds) /
         drained;
}

void Tecc::on_report(const FeedbackReport& report, Duration round_trip, std::uint64_t packet_size) {
  if ((rate_ && report.sequence <= sequence_) || report.rate == 0) return;
  sequence_ = report.sequence;
  round_trip = std::max(round_trip, k_shortest_round_trip);
  const double now = std::max(1 - excess(report, round_trip), 1 - config_.max_penalty);
  utilisation_ = (1 - config_.ewma_weight) * utilisation_ + config_.ewma_weight * now;
  // Recomputed each time and never accumulated, as in HPCC.
  const double rate =
      utilisation_ * static_cast<double>(report.rate) +
      config_.additive_packets * static_cast<double>(packet_size) / to_seconds(round_trip);
  rate_ = static_cast<std::uint64_t>(std::min(rate, k_max_rate));
}

}  // namespace sheaf::quic
