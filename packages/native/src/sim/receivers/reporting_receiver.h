#pragma once

#include <algorithm>
#include <optional>

#include "sim/receivers/receiver_model.h"

namespace sheaf::quic {

// A client that reports what it received until the server has acknowledged such a report, whatever
// it refuses. With more ranges than `max_ranges` the lowest is not reported any more.
class ReportingReceiver : public ReceiverModel {
 public:
  std::vector<AckRange> acknowledge(Time) override {
    forget_planned_ack();
    return newest_ranges(unconfirmed_, max_ranges_);
  }
  void on_ack_acknowledged(std::span<const AckRange> reported) override {
    if (!reported.empty()) unconfirmed_.erase(0, reported.front().last + 1);
  }
  std::size_t ranges() const override { return unconfirmed_.size(); }

 protected:
  explicit ReportingReceiver(std::size_t max_ranges) : max_ranges_(max_ranges) {}

  // Takes a number that is not refused.
  void accept(PacketNumber number, bool ack_eliciting, Time now) {
    const bool in_order = number == (largest_ ? *largest_ + 1 : 0);
    largest_ = std::max(largest_.value_or(number), number);
    seen_.insert(number);
    unconfirmed_.insert(number);
    if (unconfirmed_.size() > max_ranges_) unconfirmed_.pop_front();
    if (ack_eliciting) plan_ack(in_order, now);
  }

  IntervalSet seen_;
  std::optional<PacketNumber> largest_;

 private:
  std::size_t max_ranges_;
  IntervalSet unconfirmed_;
};

}  // namespace sheaf::quic
