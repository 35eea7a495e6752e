#include "tunnel/credit.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

constexpr Duration k_least_round_trip = std::chrono::milliseconds(1);
constexpr double k_fastest_tunnel = 1e11;  // bytes per second
constexpr double k_max_credit = 1e15;      // bytes; reports may claim anything
constexpr double k_slowest = 0.25;         // pace while too much is in flight
// Reports come once in a round trip of the tunnel. So many may be missing before the credit ends.
constexpr double k_missing_reports = 3;
// A tunnel that reported nothing for so many of its round trips could send nothing either.
constexpr int k_silence = 4;
// Packets that come later than this after others, without a queue, are lost.
constexpr Duration k_late = std::chrono::milliseconds(50);
constexpr std::size_t k_history = 256;

}  // namespace

bool Credit::on_report(const FeedbackReport& report, const Sender& sender, Time now) {
  // Another tunnel carries the connection now, and counts anew.
  if (started_ && report.made > last_.made && report.arrived < last_.arrived) started_ = false;
  if ((started_ && report.sequence <= last_.sequence) || report.rate == 0) return false;
  // One that contains the queue at the tunnel would keep that queue as it is.
  if (sender.round_trip > Duration::zero()) {
    round_trip_ = std::min(round_trip_.value_or(sender.round_trip), sender.round_trip);
  }
  const Duration round_trip =
      std::max(round_trip_.value_or(report.tunnel_round_trip), k_least_round_trip) +
      delay_of(report, now);
  const double cycle = to_seconds(std::max(report.tunnel_round_trip, k_least_round_trip));
  const double sample = std::min(sample_of(report), k_fastest_tunnel);
  tunnel_rate_ = started_ ? tunnel_rate_ + config_.weight * (sample - tunnel_rate_) : sample;
  history_.push_back({.when = now, .bytes = sender.bytes_sent});
  const double queue =
      config_.queue_share * tunnel_rate_ * cycle + 2 * static_cast<double>(sender.packet_size);
  const double due = static_cast<double>(report.left) + lost_before(report, round_trip, now) +
                     tunnel_rate_ * to_seconds(round_trip) + queue;
  const double missing = due - static_cast<double>(sender.bytes_sent);
  const double wanted = tunnel_rate_ + missing / cycle;
  rate_ = static_cast<std::uint64_t>(
      std::clamp(wanted, k_slowest * tunnel_rate_ + 1, config_.fastest * tunnel_rate_ + 1));
  bytes_ = static_cast<std::uint64_t>(
      std::clamp(missing + k_missing_reports * tunnel_rate_ * cycle, 0., k_max_credit));
  started_ = true;
  last_ = report;
  return true;
}

// While packets wait, what left is what the tunnel can send. Otherwise its rate is the limit, less
// what goes into repeats.
double Credit::sample_of(const FeedbackReport& report) const {
  const double again = report.packets_sent == 0 ? 0
                                                : static_cast<double>(report.packets_repeated) /
                                                      static_cast<double>(report.packets_sent);
  const double free = static_cast<double>(report.rate) * (1 - again);
  const Duration passed = report.made - last_.made;
  if (!started_ || passed <= Duration::zero()) return free;
  // A few packets in a moment are no rate.
  if (2 * passed < report.tunnel_round_trip) return tunnel_rate_;
  const bool outage = passed > k_silence * report.tunnel_round_trip;
  if (outage && config_.skips_outages) return tunnel_rate_;
  const double served =
      static_cast<double>(report.left - std::min(last_.left, report.left)) / to_seconds(passed);
  return report.least_queue > 0 ? served : std::max(served, free);
}

// Queues delay reports, too. The fastest one tells the difference between both clocks.
Duration Credit::delay_of(const FeedbackReport& report, Time now) {
  if (report.made == Duration::zero()) return {};  // the client remembered it
  const Duration difference = now.time_since_epoch() - report.made;
  least_difference_ = std::min(least_difference_.value_or(difference), difference);
  return difference - *least_difference_;
}

// What was sent a round trip ago arrived at the tunnel before it made the report, or is lost.
double Credit::lost_before(const FeedbackReport& report, Duration round_trip, Time now) {
  const Time before = now - round_trip - k_late;
  while (history_.size() > 1 && (history_[1].when <= before || history_.size() > k_history)) {
    history_.pop_front();
  }
  if (history_.front().when > before || history_.front().bytes <= report.arrived) return 0;
  return static_cast<double>(history_.front().bytes - report.arrived);
}

}  // namespace sheaf::quic
