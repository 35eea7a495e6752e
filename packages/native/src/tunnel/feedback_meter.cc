#include "tunnel/feedback_meter.h"

#include <algorithm>
#include <utility>

namespace sheaf::quic {

namespace {

// Shorter cycles would cost more than they tell.
constexpr Duration k_shortest_cycle = std::chrono::milliseconds(5);

}  // namespace

FeedbackReport FeedbackMeter::report(const FlowAtTunnel& flow, const OuterConditions& outer,
                                     Time now) {
  const std::uint64_t came =
      flow.bytes_arrived - std::exchange(arrived_before_, flow.bytes_arrived);
  const bool idle = !flow.waits && came <= k_max_acknowledgement;
  next_ = idle ? k_never : now + std::max(outer.minimum_round_trip, k_shortest_cycle);
  const std::uint64_t sent = flow.packets_sent - std::exchange(sent_before_, flow.packets_sent);
  const std::uint64_t repeated =
      flow.packets_repeated - std::exchange(repeated_before_, flow.packets_repeated);
  return {.sequence = ++sequence_,
          .made = now.time_since_epoch(),
          .rate = outer.rate,
          .least_queue = flow.least_bytes,
          .oldest_wait = flow.oldest_wait,
          .arrived = flow.bytes_arrived,
          .left = flow.bytes_left,
          .packets_sent = sent,
          // Something may have been declared lost, and not have left yet.
          .packets_repeated = std::min(repeated, sent),
          .tunnel_round_trip = outer.minimum_round_trip};
}

}  // namespace sheaf::quic
