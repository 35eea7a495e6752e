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
  // the oldest ones expire.
  std::uint64_t on_packet(PacketNumber number, Time now);
  // Forgets packets that are missing since `time` or longer. Returns how many.
  std::uint64_t expire(Time time);
  // Returns how many packets expired that were in too many gaps.
  std::uint64_t take_overflow() { return std::exchange(overflow_, 0); }

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
  void insert(std::size_t index, const Gap& gap);

  std::vector<Gap> gaps_;  // ascending
  PacketNumber end_ = 0;
  std::uint64_t overflow_ = 0;
};

}  // namespace sheaf::quic
