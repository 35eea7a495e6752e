#pragma once

#include "tunnel/feedback_report.h"

namespace sheaf::quic {

// What the outer connection says for a report
struct OuterConditions {
  std::uint64_t rate = 0;  // bytes per second at which it sends inner payloads of the flow
  Duration minimum_round_trip{};
};

// The packets of a flow at the tunnel's server so far, and those that wait
struct FlowAtTunnel {
  std::uint64_t bytes_arrived = 0;
  std::uint64_t bytes_left = 0;    // or were dropped
  std::uint64_t packets_sent = 0;  // repeats included
  std::uint64_t packets_repeated = 0;
  bool waits = false;             // something does
  std::uint64_t least_bytes = 0;  // that waited since the last report
  Duration oldest_wait{};
};

// Makes the reports of a tunnel's server about a flow: one for each smallest round trip of the
// tunnel, and the first one at once when packets come. After a cycle without packets it is silent
// until the next one.
class FeedbackMeter {
 public:
  // Returns when the next report is due; k_never while it is silent.
  Time next_timeout() const { return next_; }
  // Whether packets came in the present cycle or in the one before
  bool active() const { return next_ != k_never; }
  // Called when a packet of so many bytes from the flow's server came.
  void on_arrival(std::size_t bytes, Time now) {
    if (next_ == k_never && bytes > k_max_acknowledgement) next_ = now;
  }
  // Makes the report of a cycle, which ends now.
  FeedbackReport report(const FlowAtTunnel& flow, const OuterConditions& outer, Time now);

 private:
  // Reports are acknowledged. That alone is no reason for another one.
  static constexpr std::size_t k_max_acknowledgement = 200;

  Time next_ = k_never;
  std::uint64_t sequence_ = 0;
  std::uint64_t sent_before_ = 0;
  std::uint64_t repeated_before_ = 0;
  std::uint64_t arrived_before_ = 0;
};

}  // namespace sheaf::quic
