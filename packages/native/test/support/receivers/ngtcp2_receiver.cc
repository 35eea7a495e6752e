#include "support/receivers/ngtcp2_receiver.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

// Counts the gaps below the largest number.
std::size_t gaps(const IntervalSet& seen) {
  return seen.size() - (seen.front().start == 0 ? 1 : 0);
}

}  // namespace

bool Ngtcp2Receiver::receive(PacketNumber number, bool ack_eliciting, Time now) {
  if (seen_.contains(number)) return false;
  const bool in_order = number == (largest_ ? *largest_ + 1 : 0);
  largest_ = std::max(largest_.value_or(number), number);
  seen_.insert(number);
  while (gaps(seen_) > k_max_gaps) {
    const std::uint64_t lowest_gap = seen_.first_gap();
    seen_.insert(lowest_gap, seen_.find(lowest_gap)->start);
  }
  unconfirmed_.insert(number);
  if (unconfirmed_.size() > k_max_ranges) unconfirmed_.pop_front();
  if (ack_eliciting) plan_ack(in_order, now);
  return true;
}

std::vector<AckRange> Ngtcp2Receiver::acknowledge(Time) {
  forget_planned_ack();
  return newest_ranges(unconfirmed_, k_max_ranges);
}

void Ngtcp2Receiver::on_ack_acknowledged(std::span<const AckRange> reported) {
  if (!reported.empty()) unconfirmed_.erase(0, reported.front().last + 1);
}

}  // namespace sheaf::quic
