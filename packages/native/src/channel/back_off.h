#pragma once

#include <algorithm>

#include "util/time.h"

namespace sheaf::quic {

// A wait that doubles when it has to begin again soon, and is short again after a calm time
class BackOff {
 public:
  struct Range {
    Duration shortest;
    Duration longest;
  };
  void begin(const Range& range, Time now) {
    wait_ = is_calm(now) ? range.shortest : std::min(2 * wait_, range.longest);
    until_ = now + wait_;
  }
  Time until() const { return until_; }
  // Whether the last wait is long over
  bool is_calm(Time now) const {
    return wait_ == Duration{} || now >= until_ + std::max(wait_, k_calm);
  }

 private:
  static constexpr Duration k_calm = 60s;

  Time until_{};
  Duration wait_{};
};

}  // namespace sheaf::quic
