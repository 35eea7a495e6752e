#include "sim/receivers/neqo_receiver.h"

#include <algorithm>

namespace sheaf::quic {

void NeqoReceiver::set_ack_frequency(std::uint32_t tolerance, Duration delay, bool ignore_order) {
  tolerance_ = tolerance;
  ack_delay_ = delay;
  ignore_order_ = ignore_order;
}

void NeqoReceiver::insert(PacketNumber number) {
  auto below = std::ranges::find_if(
      ranges_, [number](const Range& range) { return range.numbers.last < number; });
  const bool joins_below = below != ranges_.end() && below->numbers.last + 1 == number;
  const bool joins_above =
      below != ranges_.begin() && std::prev(below)->numbers.first == number + 1;
  if (joins_below) {
    below->numbers.last = joins_above ? std::prev(below)->numbers.last : number;
    below->ack_needed = true;
    if (joins_above) ranges_.erase(std::prev(below));
  } else if (joins_above) {
    std::prev(below)->numbers.first = number;
    std::prev(below)->ack_needed = true;
  } else {
    ranges_.insert(below, {.numbers = {number, number}});
  }
  if (ranges_.size() <= k_max_ranges) return;
  min_tracked_ = ranges_.back().numbers.last + 1;
  ranges_.pop_back();
}

bool NeqoReceiver::receive(PacketNumber number, bool ack_eliciting, Time now) {
  if (number < min_tracked_) return false;
  const bool known = std::ranges::any_of(ranges_, [number](const Range& range) {
    return range.numbers.first <= number && number <= range.numbers.last;
  });
  if (known) return false;
  const PacketNumber next_in_order = ranges_.empty() ? 0 : ranges_.front().numbers.last + 1;
  insert(number);
  if (ack_eliciting) {
    ++unreported_;
    const bool out_of_order = number != next_in_order && !ignore_order_;
    const bool at_once = out_of_order || unreported_ > tolerance_;
    // A timer that runs is not set again.
    ack_due_ = at_once ? now : ack_due_.value_or(now + ack_delay_);
  }
  // Whatever arrives makes it look whether a round trip passed without an ACK.
  const bool overdue = ack_due_ && last_ack_ && *last_ack_ + rtt_ <= now;
  ack_deadline_ = overdue ? now : ack_due_.value_or(k_never);
  return true;
}

std::vector<AckRange> NeqoReceiver::acknowledge(Time now) {
  last_ack_ = now;
  ack_due_.reset();
  forget_planned_ack();
  std::vector<AckRange> needed;
  for (const Range& range : ranges_) {
    if (range.ack_needed) needed.push_back(range.numbers);
  }
  return needed;
}

void NeqoReceiver::on_ack_acknowledged(std::span<const AckRange> reported) {
  for (Range& range : ranges_) {
    const bool whole = std::ranges::any_of(reported, [&range](const AckRange& known) {
      return known.first <= range.numbers.first && range.numbers.last <= known.last;
    });
    if (whole) range.ack_needed = false;
  }
}

}  // namespace sheaf::quic
