#include "channel/missing_packets.h"

#include <algorithm>

namespace sheaf::quic {

bool MissingPackets::contains(PacketNumber number) const {
  const auto gap =
      std::ranges::upper_bound(gaps_, number, {}, [](const Gap& other) { return other.range.end; });
  return gap != gaps_.end() && gap->range.start <= number;
}

void MissingPackets::insert(std::size_t index, const Gap& gap) {
  if (gaps_.size() == k_max_gaps) {
    overflow_ += gaps_.front().range.size();
    gaps_.erase(gaps_.begin());
    if (index > 0) --index;
  }
  gaps_.insert(gaps_.begin() + static_cast<std::ptrdiff_t>(index), gap);
}

std::uint64_t MissingPackets::on_packet(PacketNumber number, Time now) {
  if (number >= end_) {
    const std::uint64_t skipped = end_ == 0 ? 0 : number - end_;
    if (skipped > 0) insert(gaps_.size(), {{end_, number}, now});
    end_ = number + 1;
    return skipped;
  }
  const auto gap =
      std::ranges::upper_bound(gaps_, number, {}, [](const Gap& other) { return other.range.end; });
  if (gap == gaps_.end() || gap->range.start > number) return 0;
  const Gap above{{number + 1, gap->range.end}, gap->since};
  gap->range.end = number;
  const auto index = static_cast<std::size_t>(gap - gaps_.begin());
  if (gap->range.size() > 0) {
    if (above.range.size() > 0) insert(index + 1, above);
  } else if (above.range.size() > 0) {
    *gap = above;
  } else {
    gaps_.erase(gap);
  }
  return 0;
}

// Gaps are found in the order of their numbers, so the oldest are the lowest.
std::uint64_t MissingPackets::expire(Time time) {
  std::uint64_t expired = 0;
  auto gap = gaps_.begin();
  for (; gap != gaps_.end() && gap->since <= time; ++gap) expired += gap->range.size();
  gaps_.erase(gaps_.begin(), gap);
  return expired;
}

std::uint64_t MissingPackets::count() const {
  std::uint64_t count = 0;
  for (const Gap& gap : gaps_) count += gap.range.size();
  return count;
}

}  // namespace sheaf::quic
