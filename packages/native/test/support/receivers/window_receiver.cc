#include "support/receivers/window_receiver.h"

#include <algorithm>

namespace sheaf::quic {

bool WindowReceiver::receive(PacketNumber number, bool ack_eliciting, Time now) {
  if (largest_ && number + window_ <= *largest_) return false;
  if (seen_.contains(number)) return false;
  const bool in_order = number == (largest_ ? *largest_ + 1 : 0);
  largest_ = std::max(largest_.value_or(number), number);
  seen_.insert(number);
  if (*largest_ >= window_) seen_.erase(0, *largest_ - window_ + 1);
  unconfirmed_.insert(number);
  if (unconfirmed_.size() > k_max_ranges) unconfirmed_.pop_front();
  if (ack_eliciting) plan_ack(in_order, now);
  return true;
}

std::vector<AckRange> WindowReceiver::acknowledge(Time) {
  forget_planned_ack();
  return newest_ranges(unconfirmed_, k_max_ranges);
}

void WindowReceiver::on_ack_acknowledged(std::span<const AckRange> reported) {
  if (!reported.empty()) unconfirmed_.erase(0, reported.front().last + 1);
}

}  // namespace sheaf::quic
