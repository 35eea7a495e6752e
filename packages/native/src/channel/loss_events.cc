#include "channel/loss_events.h"

#include <algorithm>
#include <limits>
#include <span>

namespace sheaf::quic {
namespace {

// RFC 5348 §5.4
constexpr std::array<double, 8> k_interval_weights = {1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2};

}  // namespace

std::uint32_t LossEvents::on_report(const ChannelReport& report, const PacketRing& log,
                                    Duration round_trip, Time now) {
  if (!begun_) {
    begun_ = true;
    lost_ = report.lost;
  }
  std::uint32_t events = 0;
  // A report begins with the highest.
  const std::span<const Interval> missing = report.missing.view();
  for (auto range = missing.rbegin(); range != missing.rend(); ++range) {
    for (PacketNumber number = std::max(range->start, counted_); number < range->end; ++number) {
      if (lost_ < UINT64_MAX) ++lost_;
      const Time sent = log.contains(number) ? log.kept_at(number) : now;
      events += count(number, sent, round_trip) ? 1 : 0;
    }
  }
  counted_ = std::max(counted_, report.end);
  if (report.lost > lost_) {
    lost_ = report.lost;
    if (counted_ > 0) events += count(counted_ - 1, now, round_trip) ? 1 : 0;
  }
  return events;
}

// Returns whether the loss of this packet begins an event.
bool LossEvents::count(PacketNumber number, Time sent, Duration round_trip) {
  if (any_ && (sent < event_sent_ + round_trip || number <= event_)) return false;
  if (any_) {
    std::ranges::copy_backward(intervals_.begin(), intervals_.end() - 1, intervals_.end());
    intervals_[0] = static_cast<std::uint32_t>(
        std::min<PacketNumber>(number - event_, std::numeric_limits<std::uint32_t>::max()));
  }
  any_ = true;
  event_ = number;
  event_sent_ = sent;
  return true;
}

double LossEvents::rate(PacketNumber sent_end) const {
  if (!any_ || !has_interval()) return 0;
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
