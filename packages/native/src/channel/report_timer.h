#pragma once

#include <algorithm>
#include <cmath>

#include "channel/channel_messages.h"
#include "util/random.h"

namespace sheaf::quic {

// When a receiver reports: soon after a loss, with a random delay; in each interval while something
// is missing; and seldom otherwise, to show that it lives. A share of the receivers reports in each
// interval anyway.
//
// Many receivers may lose the same packet. Their delay is the back-off of RFC 5401 §4.2.2: few are
// early, so that the source answers before the others would report. It is up to a quarter of an
// interval for one receiver, and up to an interval for a thousand.
class ReportTimer {
 public:
  ReportTimer(const ChannelOffer& offer, Random& random, Time now)
      : interval_(offer.report_interval),
        random_(random),
        quiet_interval_(random.below(65536) < offer.report_share
                            ? interval_
                            : std::max<Duration>(k_quiet_intervals * interval_, k_quiet_time)),
        quiet_due_(now + share_of(quiet_interval_, random.uniform())) {}

  // For how many receivers the source sends
  void set_receivers(std::uint64_t receivers) {
    receivers_ = static_cast<double>(std::max<std::uint64_t>(receivers, 1));
  }

  Time due() const { return std::min(quiet_due_, loss_due_); }
  // Whether a report is due without a loss
  bool is_quiet_due(Time now) const { return now >= quiet_due_; }
  void on_loss(Time now) {
    loss_due_ = std::min(loss_due_, std::max(now, last_ + interval_ / 2) + back_off());
  }
  // Nothing is missing any more.
  void on_nothing_missing() { loss_due_ = k_never; }
  // Repairs that are on their way may bring until then what is missing.
  void wait_until(Time time) { loss_due_ = time + back_off(); }
  void on_reported(bool misses_something, Time now) {
    last_ = now;
    quiet_due_ = now + quiet_interval_;
    loss_due_ = misses_something ? now + interval_ : k_never;
  }

 private:
  static constexpr int k_quiet_intervals = 10;
  // Intervals of a fast channel are short, which says nothing of how often receivers have to show
  // that they live.
  static constexpr Duration k_quiet_time = 1s;

  Duration back_off() {
    const double logarithm = std::log(receivers_);
    const double longest = std::min(1.0, 0.25 * (1 + logarithm / std::log(10.0)));
    const double steepness = logarithm + 1;
    const double x = random_.uniform() * (std::exp(steepness) - 1) + 1;
    return share_of(interval_, longest * std::log(x) / steepness);
  }

  Duration interval_;
  Random& random_;
  Duration quiet_interval_;
  double receivers_ = 1;
  Time quiet_due_;
  Time loss_due_ = k_never;
  Time last_{};
};

}  // namespace sheaf::quic
