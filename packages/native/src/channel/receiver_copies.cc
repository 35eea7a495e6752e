#include "channel/receiver_copies.h"

#include <algorithm>
#include <utility>

namespace sheaf::quic {

bool ReceiverCopies::on_state(const ChannelState& state, PacketNumber sent_end, Duration interval,
                              Time now) {
  if (state_ == ListenState::kLeft) return true;
  const bool was_receiving = std::exchange(state_, state.state) == ListenState::kReceiving;
  switch (state.state) {
    case ListenState::kWant:
    case ListenState::kJoined:
      break;
    case ListenState::kReceiving:
      // One that says so again has lost the group and found it before it could say so.
      if (!was_receiving && !held_) end_ = std::max(next_, state.number);
      break;
    case ListenState::kUnicast: {
      const bool too_soon = last_unicast_at_ != Time{} && now < last_unicast_at_ + interval;
      if (!too_soon) last_unicast_at_ = now;
      // A receiver that names a number of the future gets what there is.
      next_ = std::max(std::min(state.number, sent_end), too_soon ? next_ : 0);
      end_ = k_no_packet_number;
      return !too_soon;
    }
    case ListenState::kLeft:
      end_ = next_ = 0;
      missing_count_ = 0;
      break;
  }
  return true;
}

bool ReceiverCopies::on_report(const ChannelReport& report, PacketNumber sent_end,
                               Duration interval, Time now) {
  if (report.end > sent_end || state_ == ListenState::kLeft) return false;
  const bool is_new = last_report_at_ == Time{} || report.sequence > last_report_;
  if (!is_new || (last_report_at_ != Time{} && now < last_report_at_ + interval / 4)) return false;
  last_report_ = report.sequence;
  last_report_at_ = now;
  missing_count_ = 0;
  const auto ranges = report.missing.view();
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
    want(range->start, range->end);
  }
  return true;
}

void ReceiverCopies::hold(bool held, PacketNumber sent_end) {
  if (std::exchange(held_, held) == held || state_ != ListenState::kReceiving) return;
  // Copies in order that are on their way go on. Else reports name what is missing until now.
  if (held && next_ >= end_) next_ = sent_end;
  end_ = held ? k_no_packet_number : next_;
}

void ReceiverCopies::keep_below(PacketNumber number) {
  const auto below = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(number - std::min(number, base_), UINT32_MAX));
  while (missing_count_ > 0 && missing_[missing_count_ - 1].start >= below) --missing_count_;
  if (missing_count_ == 0) return;
  Range& last = missing_[missing_count_ - 1];
  last.end = std::min(last.end, below);
}

void ReceiverCopies::want(PacketNumber start, PacketNumber end) {
  if (state_ == ListenState::kLeft) return;
  constexpr PacketNumber k_half = PacketNumber{1} << 31;
  if (missing_count_ == 0) base_ = start - std::min(start, k_half);
  // Copies in order bring the packets between `next_` and `end_`. No log has what is far away.
  const Interval parts[] = {{start, std::min(end, next_)}, {std::max(start, end_), end}};
  for (const Interval& part : parts) {
    const bool is_near = part.start >= base_ && part.end - base_ <= UINT32_MAX;
    if (part.start < part.end && is_near && missing_count_ < missing_.size()) {
      missing_[missing_count_++] = {static_cast<std::uint32_t>(part.start - base_),
                                    static_cast<std::uint32_t>(part.end - base_)};
    }
  }
}

void ReceiverCopies::drop_first() {
  std::move(missing_.begin() + 1, missing_.begin() + static_cast<std::ptrdiff_t>(missing_count_),
            missing_.begin());
  --missing_count_;
}

PacketNumber ReceiverCopies::take_next(const PacketRing& log, PacketNumber sent_end, Time oldest,
                                       bool in_order) {
  // Who comes late needs its group from the start.
  const PacketNumber present = state_ <= ListenState::kJoined ? present_ : 0;
  const auto is_worth = [&](PacketNumber number) {
    return number < sent_end && log.contains(number) &&
           (number < present || log.kept_at(number) >= oldest);
  };
  while (missing_count_ > 0) {
    Range& range = missing_[0];
    const PacketNumber number = std::max(base_ + range.start, log.oldest());
    if (number >= base_ + range.end) {
      drop_first();
      continue;
    }
    range.start = static_cast<std::uint32_t>(number - base_) + 1;
    if (is_worth(number)) return number;
  }
  if (!in_order) return k_no_packet_number;
  next_ = std::max(next_, log.oldest());
  while (next_ < std::min(end_, sent_end)) {
    const PacketNumber number = next_++;
    if (is_worth(number)) return number;
  }
  return k_no_packet_number;
}

}  // namespace sheaf::quic
