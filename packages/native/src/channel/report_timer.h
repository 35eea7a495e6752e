#pragma once

#include <algorithm>

#include "channel/channel_messages.h"
#include "util/random.h"

namespace sheaf::quic {

// When a receiver reports: soon after a loss, with a random delay, so that many receivers that lose
// the same packet do not report at once; in each interval while something is missing; and seldom
// otherwise, to show that it lives. A share of the receivers reports in each interval anyway.
class ReportTimer {
 public:
  ReportTimer(const ChannelOffer& offer, Random& random, Time now)
      : interval_(offer.report_interval),
        random_(random),
        quiet_interval_(random.below(65536) < offer.report_share ? interval_
                                                                 : k_quiet_intervals * interval_),
        due_(now + random_part(quiet_interval_)) {}

  Time due() const { return due_; }
  void on_loss(Time now) {
    const Time soon = std::max(now, last_ + interval_ / 2) + random_part(interval_ / 4);
    due_ = std::min(due_, soon);
  }
  void on_reported(bool misses_something, Time now) {
    last_ = now;
    due_ = now + (misses_something ? interval_ : quiet_interval_);
  }

 private:
  static constexpr int k_quiet_intervals = 10;

  Duration random_part(Duration of) {
    return Duration(static_cast<std::int64_t>(
        random_.below(static_cast<std::uint64_t>(std::max<Duration::rep>(of.count(), 1)))));
  }

  Duration interval_;
  Random& random_;
  Duration quiet_interval_;
  Time due_;
  Time last_{};
};

}  // namespace sheaf::quic
