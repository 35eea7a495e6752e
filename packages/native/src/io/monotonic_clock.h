#pragma once

#include <time.h>

#include "util/time.h"

namespace sheaf::io {

inline quic::Time monotonic_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return quic::Time(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

// Returns what to add to a time to get one of the clock that machines share.
inline quic::Duration wall_clock_ahead() {
  timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  const auto since_epoch =
      std::chrono::seconds(wall.tv_sec) + std::chrono::nanoseconds(wall.tv_nsec);
  return since_epoch - monotonic_now().time_since_epoch();
}

}  // namespace sheaf::io
