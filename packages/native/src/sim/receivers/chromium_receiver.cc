#include "sim/receivers/chromium_receiver.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

constexpr Duration k_granularity = 1ms;
// A gap is reported at once only while it is new: for this many packets above it.
constexpr std::uint64_t k_packets_above_gap = 4;
constexpr std::uint32_t k_seldom = 10;  // packets per ACK after the first

}  // namespace

bool ChromiumReceiver::has_new_gap() const {
  const bool gap = numbers_.size() > 1 || (floor_ > 0 && numbers_.front().start > floor_);
  return gap && numbers_.back().size() <= k_packets_above_gap;
}

Duration ChromiumReceiver::ack_delay(PacketNumber number) const {
  if (number < k_seldom_from) return k_max_ack_delay;
  return std::max(std::min(k_max_ack_delay, min_rtt_ / 4), k_granularity);
}

bool ChromiumReceiver::receive(PacketNumber number, bool ack_eliciting, Time now) {
  if (closed_ || number < floor_ || numbers_.contains(number)) return false;
  const bool was_missing = largest_ && number < *largest_;
  largest_ = std::max(largest_.value_or(number), number);
  numbers_.insert(number);
  if (numbers_.size() > k_max_ranges) numbers_.pop_front();

  if (was_missing && reported_ && number < *reported_) {
    ack_deadline_ = now;
    return true;
  }
  if (!ack_eliciting) return true;
  ++unreported_;
  const std::uint32_t ack_every = number < k_seldom_from ? k_ack_every : k_seldom;
  const bool at_once = unreported_ >= ack_every || has_new_gap();
  ack_deadline_ = std::min(ack_deadline_, at_once ? now : now + ack_delay(number));
  return true;
}

std::vector<AckRange> ChromiumReceiver::acknowledge(Time) {
  forget_planned_ack();
  reported_ = largest_;
  return newest_ranges(numbers_, k_max_ranges);
}

void ChromiumReceiver::on_ack_acknowledged(std::span<const AckRange> reported) {
  if (reported.empty()) return;
  floor_ = std::max(floor_, reported.front().last + 1);
  numbers_.erase(0, floor_);
  // The packet with the server's ACK must itself lie above: PROTOCOL_VIOLATION otherwise.
  if (numbers_.empty()) closed_ = true;
}

}  // namespace sheaf::quic
