#pragma once

#include <algorithm>

#include "tunnel/counts.h"
#include "tunnel/feedback_meter.h"

namespace sheaf::tunnel_request {

// What the proxy's end of a tunnel reports to its client about the packets of the target, so that
// the server inside can follow the tunnel (TECC, NSDI 2024, §4.1)
class TunnelFeedback {
 public:
  void on_arrival(std::size_t bytes, quic::Time now) {
    arrived_ += bytes;
    meter_.on_arrival(bytes, now);
  }
  // Bytes of the target's packets wait now.
  void note_waiting(std::uint64_t bytes) { least_ = std::min(least_, bytes); }
  bool due(quic::Time now) const { return meter_.next_timeout() <= now; }

  struct Present {
    std::uint64_t waiting_bytes = 0;
    quic::Duration oldest_wait{};
    quic::OuterConditions outer;
  };
  quic::FeedbackReport report(const tunnel::Counts& counts, const Present& present,
                              quic::Time now) {
    const std::uint64_t least = std::min(std::exchange(least_, UINT64_MAX), present.waiting_bytes);
    return meter_.report({.bytes_arrived = arrived_,
                          .bytes_left = arrived_ - std::min(arrived_, present.waiting_bytes),
                          .packets_sent = counts.to_client.packets + counts.repeated,
                          .packets_repeated = counts.repeated,
                          .waits = present.waiting_bytes > 0,
                          .least_bytes = least,
                          .oldest_wait = present.oldest_wait},
                         present.outer, now);
  }

 private:
  quic::FeedbackMeter meter_;
  std::uint64_t arrived_ = 0;
  std::uint64_t least_ = UINT64_MAX;  // bytes that waited since the last report
};

}  // namespace sheaf::tunnel_request
