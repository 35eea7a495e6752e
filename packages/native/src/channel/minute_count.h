#pragma once

#include "util/time.h"

namespace sheaf::quic {

// Counts events of a minute, which begins with the first of them.
class MinuteCount {
 public:
  void add(Time now) {
    const std::uint32_t before = at(now);
    if (before == 0) since_ = now;
    count_ = before + 1;
  }
  // How many there were in the minute that lasts; 0: it is over.
  std::uint32_t at(Time now) const { return now < since_ + 60s ? count_ : 0; }

 private:
  Time since_{};
  std::uint32_t count_ = 0;
};

}  // namespace sheaf::quic
