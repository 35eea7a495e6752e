#include "scheduler/path/earliest_completion_first.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

// Hysteresis (§4): once it waits, it continues to wait until the slower path is clearly better.
constexpr double k_beta = 0.25;

// Returns the round trips that the path needs for these bytes.
double windows(std::uint64_t bytes, const PathSnapshot& path) {
  return static_cast<double>(bytes) /
         static_cast<double>(std::max(path.capacity, path.datagram_size));
}

}  // namespace

bool EarliestCompletionFirst::worth_it(const PathSnapshot& slow, const PathSnapshot& fast,
                                       const SendDemand& demand) {
  const double fast_rtt = to_seconds(fast.smoothed_rtt);
  const double slow_rtt = to_seconds(slow.smoothed_rtt);
  const double margin = std::max(to_seconds(fast.rtt_variance), to_seconds(slow.rtt_variance));
  // One round trip until the fast path has room again, then the rest
  const double through_fast = (1 + windows(demand.unsent_bytes, fast)) * fast_rtt;
  if (through_fast >= (waiting_ ? 1 + k_beta : 1) * (slow_rtt + margin)) {
    waiting_ = false;
    return true;
  }
  // Waiting helps only while the slow path would take longer than waiting and then sending.
  if (std::max(windows(demand.unsent_bytes, slow), 1.0) * slow_rtt < 2 * fast_rtt + margin) {
    return true;
  }
  waiting_ = true;
  return false;
}

}  // namespace sheaf::quic
