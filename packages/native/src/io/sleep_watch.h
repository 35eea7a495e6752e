#pragma once

#include <time.h>

#include <algorithm>

#include "io/monotonic_clock.h"

namespace sheaf::io {

// For how long the computer has slept since it started. The time of `monotonic_now` stands still
// meanwhile.
inline quic::Duration time_asleep() {
  const quic::Time awake = monotonic_now();  // first, so that the difference is never too small
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  const quic::Duration since_start =
      std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  return since_start - awake.time_since_epoch();
}

// Finds out that the computer has slept.
class SleepWatch {
 public:
  explicit SleepWatch(quic::Duration asleep) : asleep_(asleep) {}

  // Returns true once after each sleep. `asleep` is `time_asleep` now.
  bool woke(quic::Duration asleep) {
    const bool woke = asleep > asleep_ + k_tolerance;
    asleep_ = woke ? asleep : std::min(asleep_, asleep);
    return woke;
  }

 private:
  // Both clocks are read one after the other, and the thread may have to wait in between. No
  // computer sleeps for less.
  static constexpr quic::Duration k_tolerance = std::chrono::milliseconds(20);

  quic::Duration asleep_;  // the least since the last sleep
};

}  // namespace sheaf::io
