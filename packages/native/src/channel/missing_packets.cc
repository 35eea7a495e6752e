#include "channel/missing_packets.h"

#include <algorithm>

namespace sheaf::quic {

bool MissingPackets::contains(PacketNumber number) const {
  const auto gap =
      std::ranges::upper_bound(gaps_, number, {}, [](const Gap& other) { return other.range.end; });
  return gap != gaps_.end() && gap->range.start <= number;
}

std::vector<MissingPackets::Gap>::iterator MissingPackets::gap_above(PacketNumber number) {
  return std::ranges::upper_bound(gaps_, number, {}, [](const Gap& gap) { return gap.range.end; });
}

// Whoever lost so much gets some packets again, and loses no more than before.
void MissingPackets::append(const Gap& gap) {
  if (gaps_.size() == k_max_gaps) {
    gaps_[1].range.start = gaps_[0].range.start;
    gaps_[1].since = gaps_[0].since;
    gaps_.erase(gaps_.begin());
  }
  gaps_.push_back(gap);
}

std::uint64_t MissingPackets::take(PacketNumber number, Time now) {
  if (number >= end_) {
    const std::uint64_t skipped = end_ == 0 ? 0 : number - end_;
    if (skipped > 0) append({{end_, number}, now});
    end_ = number + 1;
    return skipped;
  }
  const auto gap = gap_above(number);
  if (gap == gaps_.end() || gap->range.start > number) return 0;
  const Gap above{{number + 1, gap->range.end}, gap->since};
  const bool splits = gap->range.start < number && above.range.size() > 0;
  // It stays in its gap until it is at the edge.
  if (splits && gaps_.size() == k_max_gaps) return 0;
  gap->range.end = number;
  if (splits) {
    gaps_.insert(gap + 1, above);
  } else if (above.range.size() > 0) {
    *gap = above;
  } else if (gap->range.size() == 0) {
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
