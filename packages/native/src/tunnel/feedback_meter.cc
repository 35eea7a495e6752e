#include "tunnel/feedback_meter.h"

#include <algorithm>
#include <utility>

namespace sheaf::quic {

namespace {

// Shorter cycles would cost more than they tell.
constexpr Duration k_shortest_cycle = std::chrono::milliseconds(5);

}  // namespace

FeedbackReport FeedbackMeter::report(InnerPacketQueue& queue, const OuterConditions& outer,
                                     Time now) {
  const InnerPacketCounts& counts = queue.counts();
  const std::uint64_t came = counts.bytes_arrived - arrived_before_;
  const bool idle = queue.empty() && came <= k_max_acknowledgement;
  arrived_before_ = counts.bytes_arrived;
  next_ = idle ? k_never : now + std::max(outer.minimum_round_trip, k_shortest_cycle);
  const std::uint64_t sent = counts.taken - std::exchange(sent_before_, counts.taken);
  const std::uint64_t repeated = counts.repeated - std::exchange(repeated_before_, counts.repeated);
  return {.sequence = ++sequence_,
          .made = now.time_since_epoch(),
          .rate = outer.rate,
          .least_queue = queue.take_least_bytes(),
          .oldest_wait = queue.oldest_wait(now),
          .arrived = counts.bytes_arrived,
          .left = counts.bytes_left + counts.bytes_dropped,
          .packets_sent = sent,
          // Something may have been declared lost, and not have left yet.
          .packets_repeated = std::min(repeated, sent),
          .tunnel_round_trip = outer.minimum_round_trip};
}

}  // namespace sheaf::quic
