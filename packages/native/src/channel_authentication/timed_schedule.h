#pragma once

#include <algorithm>
#include <cstdint>

#include "util/time.h"

namespace sheaf::quic {

// The intervals of a channel with the scheme `timed`, in the source's time. They count from 1: the
// key of 0 is the commitment.
struct TimedSchedule {
  Time start{};  // of interval 1
  Duration interval = 50ms;
  std::uint32_t delay = 2;  // intervals after which a key is disclosed

  // Far away, with room for sums: of intervals of a millisecond, it comes after 24 days.
  static constexpr std::uint32_t k_last = UINT32_MAX / 2;

  // Returns 0 for a time before the first interval.
  std::uint32_t interval_at(Time source_time) const {
    if (source_time < start) return 0;
    const std::int64_t index = (source_time - start) / interval;
    return static_cast<std::uint32_t>(std::min<std::int64_t>(index + 1, k_last));
  }
  // When an interval begins
  Time start_of(std::uint32_t index) const {
    return start + interval * (static_cast<std::int64_t>(index) - 1);
  }
  // For how long a packet waits for its key at most. It comes with the first packet of the interval
  // in which it is due, and with that of the next one when that is lost.
  Duration longest_wait() const { return interval * (delay + 2); }
};

// Chooses the intervals of a channel from its deadline, and from the time that its log holds at the
// full rate. Keys are disclosed after a quarter of the deadline at most, so that there is time for
// copies of what is lost. It shows as lost when later packets are proven, and half of the log has
// it then. A packet is proven if its way takes less than three intervals, and the receiver knows
// the source's clock as well as that.
inline TimedSchedule choose_timed_schedule(Duration deadline, Duration log, Time start) {
  constexpr std::uint32_t k_delay = 4;
  constexpr Duration k_longest = 250ms;
  // Members hear of the next chain of keys half a chain ahead, with a response every ten seconds.
  // A chain has 2048 keys.
  constexpr Duration k_shortest = 15ms;
  const Duration interval = std::min<Duration>(deadline / (4 * k_delay), log / (2 * (k_delay + 1)));
  return {.start = std::chrono::floor<std::chrono::microseconds>(start),
          .interval = std::clamp<Duration>(std::chrono::floor<std::chrono::milliseconds>(interval),
                                           k_shortest, k_longest),
          .delay = k_delay};
}

}  // namespace sheaf::quic
