#include "channel/loss_events.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace sheaf::quic {
namespace {

// RFC 5348 §5.4
constexpr std::array<double, 8> k_interval_weights = {1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2};

// What the log has forgotten was sent before the oldest packet that it has.
Time sent_at(const PacketRing& log, PacketNumber number, Time now) {
  const PacketNumber known = std::max(number, log.oldest());
  return log.contains(known) ? log.kept_at(known) : now;
}

}  // namespace

std::uint32_t LossEvents::on_report(const ChannelReport& report, const PacketRing& log,
                                    Duration round_trip, Time now) {
  const PacketNumber counted = std::exchange(counted_, std::max(counted_, report.end));
  // One packet stands for all that the log has forgotten.
  const PacketNumber known = log.oldest() - std::min<PacketNumber>(log.oldest(), 1);
  std::uint32_t events = 0;
  std::uint64_t named = 0;
  // A report begins with the highest.
  const std::span<const Interval> missing = report.missing.view();
  for (auto range = missing.rbegin(); range != missing.rend(); ++range) {
    const PacketNumber first = std::max(range->start, counted);
    if (first >= range->end) continue;
    named += range->end - first;
    for (auto number = std::max(first, std::min(known, range->end - 1)); number < range->end;
         ++number) {
      events += count(number, sent_at(log, number, now), round_trip) ? 1 : 0;
    }
  }
  // The total has those that the report names.
  if (lost_ == k_unknown) lost_ = report.lost - std::min(report.lost, named);
  const bool names_all = report.lost - std::min(report.lost, lost_) <= named;
  lost_ = std::max(lost_, report.lost);
  if (!names_all && counted_ > 0) events += count(counted_ - 1, now, round_trip) ? 1 : 0;
  return events;
}

void LossEvents::add_first_interval(std::uint32_t packets) {
  const auto place = std::ranges::find(intervals_, 0u);
  if (place != intervals_.end()) *place = packets;
}

// Returns whether the loss of this packet begins an event.
bool LossEvents::count(PacketNumber number, Time sent, Duration round_trip) {
  if (any() && (sent < event_sent_ + round_trip || number <= event_)) return false;
  if (any()) {
    std::ranges::copy_backward(intervals_.begin(), intervals_.end() - 1, intervals_.end());
    intervals_[0] = static_cast<std::uint32_t>(
        std::min<PacketNumber>(number - event_, std::numeric_limits<std::uint32_t>::max()));
  }
  event_ = number;
  event_sent_ = sent;
  return true;
}

double LossEvents::rate(PacketNumber sent_end) const {
  if (intervals_[0] == 0) return 0;
  // The interval that lasts counts, in place of the oldest, where that makes the mean longer.
  double with_open = static_cast<double>(sent_end - std::min(sent_end, event_));
  double without_open = 0;
  double weights = 0;
  for (std::size_t i = 0; i < k_intervals && intervals_[i] > 0; ++i) {
    if (i > 0) with_open += intervals_[i - 1] * k_interval_weights[i];
    without_open += intervals_[i] * k_interval_weights[i];
    weights += k_interval_weights[i];
  }
  return std::min(1.0, weights / std::max({with_open, without_open, 1.0}));
}

}  // namespace sheaf::quic
