#include "direct_return/own_recovery/ack_reports.h"

#include <algorithm>

#include "wire/fixed_fields.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {

namespace {

// Ranges of a frame that are read, as LossDetection does
constexpr std::size_t k_max_read = 256;

}  // namespace

bool AckReports::on_frame(const AckFrame& frame, Duration delay, Time now) {
  if (frame.largest >= fixed::k_end_of_48_bits - 1) return false;
  const std::size_t gaps = acknowledged_.size();
  std::uint64_t added = 0;
  AckRangeReader ranges(frame);
  std::size_t count = 0;
  for (PacketNumber first, last; count < k_max_read && ranges.next(first, last); ++count) {
    if (last < settled_) break;
    added += acknowledged_.insert(std::max(first, settled_), last + 1);
  }
  while (acknowledged_.size() > k_max_kept) acknowledged_.pop_front();
  if (!largest_ || frame.largest > *largest_) {
    largest_ = frame.largest;
    largest_at_ = now;
    delay_ = delay;
    const std::uint64_t marks = counts_ ? counts_->ce : 0;
    if (frame.ecn) counts_ = frame.ecn;
    urgent_ |= frame.ecn && frame.ecn->ce > marks;
  }
  if (added == 0) return true;
  news_ = true;
  urgent_ |= acknowledged_.size() > std::max<std::size_t>(gaps, 1);
  return true;
}

void AckReports::on_state(std::uint32_t report, PacketNumber settled) {
  if (report > number_) return;
  confirmed_ = std::max(confirmed_, report);
  if (settled <= settled_) return;
  settled_ = settled;
  acknowledged_.erase(0, settled);
}

Time AckReports::next_timeout(Duration round_trip) const {
  if (urgent_) return Time::min();
  if (news_) return told_at_ + std::clamp<Duration>(round_trip / 8, 1ms, 5ms);
  return confirmed_ < number_ ? told_at_ + k_repeat_interval : k_never;
}

AckReport AckReports::make(Time now) {
  told_at_ = now;
  news_ = urgent_ = false;
  AckReport report;
  report.number = ++number_;
  report.ack_delay = delay_;
  report.hold = largest_ ? now - largest_at_ : Duration{};
  report.counts = counts_;
  for (std::size_t i = acknowledged_.size(); i > 0; --i) {
    if (report.acknowledged.size() == AckReport::k_max_ranges) break;
    report.acknowledged.push_back(acknowledged_[i - 1]);
  }
  return report;
}

}  // namespace sheaf::quic
