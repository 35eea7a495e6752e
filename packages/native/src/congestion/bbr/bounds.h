#pragma once

#include <algorithm>
#include <limits>

namespace sheaf::quic::bbr {

inline constexpr double k_infinity = std::numeric_limits<double>::infinity();

// Bounds that losses put on the model (draft-ietf-ccwg-bbr §5.5.10); infinite when there is none
struct Bounds {
  // Short-term bounds, until the next probe: what was delivered in spite of losses
  double rate = k_infinity;    // bytes per second; bw_shortterm, also known as bw_lo
  double volume = k_infinity;  // bytes; inflight_shortterm, also known as inflight_lo
  // Long-term bound: the most that the path held when it was probed
  double long_term_volume = k_infinity;  // bytes; inflight_longterm, also known as inflight_hi

  void reset_short_term() { rate = volume = k_infinity; }
  // Raises the bounds to what they were before losses that did not happen.
  void restore(const Bounds& before) {
    rate = std::max(rate, before.rate);
    volume = std::max(volume, before.volume);
    long_term_volume = std::max(long_term_volume, before.long_term_volume);
  }
};

}  // namespace sheaf::quic::bbr
