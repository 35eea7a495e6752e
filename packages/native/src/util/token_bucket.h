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
    // Threads that share a bucket read their clocks one after the other, and some time later. Time
    // that the bucket has passed brings nothing again.
    if (last_ == Time{}) last_ = now;
    const Duration elapsed = std::max(now - last_, Duration{});
    tokens_ = std::min(burst_, tokens_ + to_seconds(elapsed) * per_second_);
    last_ += elapsed;
    if (tokens_ < tokens) return false;
    tokens_ -= tokens;
    return true;
  }

  // Changes the bounds. Keeps the tokens that may be there by the new ones.
  void set_bounds(double per_second, double burst) {
    per_second_ = per_second;
    burst_ = burst;
    tokens_ = std::min(tokens_, burst);
  }

 private:
  double per_second_;
  double burst_;
  double tokens_;
  Time last_{};
};

}  // namespace sheaf::quic
