#pragma once

#include <time.h>

#include "util/time.h"

namespace sheaf::io {

inline quic::Time monotonic_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return quic::Time(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace sheaf::io
