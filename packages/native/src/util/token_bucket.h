#pragma once

#include <algorithm>

#include "util/time.h"

namespace sheaf::quic {

// A token bucket: `per_second` tokens on average, at most `burst` at one time. Full at first.
class TokenBucket {
 public:
  TokenBucket(double per_second, double burst)
      : per_second_(per_second), burst_(burst), tokens_(burst) {}

  // Takes tokens. Returns false when fewer are left, and leaves them.
  bool take(Time now, double tokens = 1) {
    // A clock that jumped back brings nothing, and costs nothing.
    const double elapsed = to_seconds(std::max(now - last_, Duration{}));
    if (last_ != Time{}) tokens_ = std::min(burst_, tokens_ + elapsed * per_second_);
    last_ = now;
    if (tokens_ < tokens) return false;
    tokens_ -= tokens;
    return true;
  }

 private:
  double per_second_;
  double burst_;
  double tokens_;
  Time last_{};
};

}  // namespace sheaf::quic
