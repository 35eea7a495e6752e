#pragma once

#include <vector>

#include "channel/channel_messages.h"

namespace sheaf::quic {

// Which numbers a receiver misses, and since when. Counts begin with the first packet that arrives;
// lower ones are welcome, but not missing.
class MissingPackets {
 public:
  MissingPackets() { gaps_.reserve(k_max_gaps); }

  // One above the highest number that arrived; 0: none did.
  PacketNumber end() const { return end_; }
  bool empty() const { return gaps_.empty(); }
  // Since when the one that is missing longest is missing; k_never: none is.
  Time oldest() const { return gaps_.empty() ? k_never : gaps_.front().since; }
  bool contains(PacketNumber number) const;

  // Returns how many packets this one shows to be missing. With more gaps than this object keeps,
  // the oldest ones expire.
  std::uint64_t on_packet(PacketNumber number, Time now);
  // Forgets packets that are missing since `time` or longer. Returns how many.
  std::uint64_t expire(Time time);
  // Returns how many packets expired that were in too many gaps.
  std::uint64_t take_overflow() { return std::exchange(overflow_, 0); }

  // Writes the newest gaps into a report.
  void list(ChannelReport& report) const;

 private:
  static constexpr std::size_t k_max_gaps = 256;
  struct Gap {
    Interval range;
    Time since;
  };

  void insert(std::size_t index, const Gap& gap);

  std::vector<Gap> gaps_;  // ascending
  PacketNumber end_ = 0;
  std::uint64_t overflow_ = 0;
};

}  // namespace sheaf::quic
