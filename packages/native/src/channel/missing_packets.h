#pragma once

#include <span>
#include <utility>
#include <vector>

#include "channel/channel_messages.h"

namespace sheaf::quic {

// Which numbers a receiver misses, and since when. Counts begin with the first packet that arrives;
// lower ones are welcome, but not missing.
class MissingPackets {
 public:
  struct Gap {
    Interval range;
    Time since;
  };

  MissingPackets() { gaps_.reserve(k_max_gaps); }

  // One above the highest number that arrived; 0: none did.
  PacketNumber end() const { return end_; }
  bool empty() const { return gaps_.empty(); }
  // Since when the one that is missing longest is missing; k_never: none is.
  Time oldest() const { return gaps_.empty() ? k_never : gaps_.front().since; }
  bool contains(PacketNumber number) const;
  std::span<const Gap> gaps() const { return gaps_; }  // ascending
  std::uint64_t count() const;
  // Every packet below came, or has expired, or was before the first.
  PacketNumber lowest() const { return gaps_.empty() ? end_ : gaps_.front().range.start; }

  // Returns how many packets this one shows to be missing. With more gaps than this object keeps,
  // neighbours become one gap, in which packets are that have come. `has(number)` tells of such
  // ones; they leave a gap once they are at its edge.
  template <typename Has>
  std::uint64_t on_packet(PacketNumber number, Time now, Has&& has) {
    const std::uint64_t skipped = take(number, now);
    const auto above = gap_above(number);
    if (above != gaps_.end() && above->range.start == number + 1) {
      Interval& range = above->range;
      while (range.size() > 0 && has(range.start)) ++range.start;
      if (range.size() == 0) gaps_.erase(above);
    }
    if (const auto below = gap_above(number - 1);
        below != gaps_.end() && below->range.end == number) {
      Interval& range = below->range;
      while (range.size() > 0 && has(range.end - 1)) --range.end;
      if (range.size() == 0) gaps_.erase(below);
    }
    return skipped;
  }
  // Forgets packets that are missing since `time` or longer. Returns how many.
  std::uint64_t expire(Time time);

  // Writes the newest of what is missing into a report, without what `hides(number, since)`.
  template <typename Hides>
  void list(ChannelReport& report, Hides&& hides) const {
    report.end = end_;
    for (auto gap = gaps_.rbegin(); gap != gaps_.rend(); ++gap) {
      Interval named{gap->range.end, gap->range.end};
      const bool examined = gap->range.size() <= k_max_examined;
      for (PacketNumber number = gap->range.end; examined && number > gap->range.start; --number) {
        if (!hides(number - 1, gap->since)) {
          named.start = number - 1;
          continue;
        }
        if (!name(report, named)) return;
        named = {number - 1, number - 1};
      }
      if (!name(report, examined ? named : gap->range)) return;
    }
  }

 private:
  static constexpr std::size_t k_max_gaps = 256;
  // Gaps of more packets are named as they are: nothing hides so many.
  static constexpr std::uint64_t k_max_examined = 1024;

  // Returns false when the report has no room for more.
  static bool name(ChannelReport& report, const Interval& range) {
    if (range.size() > 0) report.missing.push_back(range);
    return report.missing.size() < ChannelReport::k_max_missing;
  }
  // Returns the first gap that ends above a number.
  std::vector<Gap>::iterator gap_above(PacketNumber number);
  std::uint64_t take(PacketNumber number, Time now);
  void append(const Gap& gap);

  std::vector<Gap> gaps_;  // ascending
  PacketNumber end_ = 0;
};

}  // namespace sheaf::quic
