#pragma once

#include <algorithm>
#include <cstddef>

#include "util/token_bucket.h"

namespace sheaf::tunnel {

// Bytes that all tunnels of one user may carry, in each direction. What is above the rate for
// longer than a quarter of a second is dropped, not delayed: whoever sends inside a tunnel slows
// down then.
class RateBudget {
 public:
  explicit RateBudget(double bytes_per_second)
      : to_target_(bytes_per_second, burst_of(bytes_per_second)),
        to_client_(bytes_per_second, burst_of(bytes_per_second)) {}

  bool take_to_target(std::size_t bytes, quic::Time now) { return take(to_target_, bytes, now); }
  bool take_to_client(std::size_t bytes, quic::Time now) { return take(to_client_, bytes, now); }
  // When a byte was last asked for
  quic::Time used_at() const { return used_at_; }

 private:
  // What the sockets of the system pass on at once
  static constexpr double k_min_burst = 128 << 10;
  static double burst_of(double bytes_per_second) {
    return std::max(bytes_per_second / 4, k_min_burst);
  }
  bool take(quic::TokenBucket& bucket, std::size_t bytes, quic::Time now) {
    used_at_ = now;
    return bucket.take(now, static_cast<double>(bytes));
  }

  quic::TokenBucket to_target_;
  quic::TokenBucket to_client_;
  quic::Time used_at_{};
};

}  // namespace sheaf::tunnel
