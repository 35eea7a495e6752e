#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "tunnel/feedback_report.h"

namespace sheaf::quic {

struct CreditConfig {
  double queue_share = 0.25;  // of the tunnel's round trip, that should wait at the tunnel
  double weight = 0.5;        // of the latest sample in the moving average of the tunnel's rate
  double fastest = 1.25;      // pace while too little is in flight, as a factor of that rate
  bool skips_outages = true;  // what the tunnel served in silence is no sample of its rate
};

// The sender's part of a tunnel's flow that works with counted bytes in place of a penalty: it
// keeps as much in flight to the tunnel as that will send until new packets come, and a short
// queue. What is in flight already is subtracted, so that no delay makes it oscillate (Smith,
// 1957).
class Credit {
 public:
  explicit Credit(const CreditConfig& config) : config_(config) {}

  struct Sender {
    Duration round_trip{};          // of the inner connection
    std::uint64_t bytes_sent = 0;   // so far, as the tunnel counts arrivals
    std::uint64_t packet_size = 0;  // the largest one
  };
  // Takes a report. Returns false, and does nothing, when it is old.
  bool on_report(const FeedbackReport& report, const Sender& sender, Time now);
  // Bytes per second at which to send until the next report
  std::uint64_t rate() const { return rate_; }
  // Bytes that may be sent until the next report. Several may get lost before it runs out.
  std::uint64_t bytes() const { return bytes_; }

 private:
  double sample_of(const FeedbackReport& report) const;
  Duration delay_of(const FeedbackReport& report, Time now);
  double lost_before(const FeedbackReport& report, Duration round_trip, Time now);

  CreditConfig config_;
  bool started_ = false;
  FeedbackReport last_;
  std::optional<Duration> round_trip_;        // the smallest one
  std::optional<Duration> least_difference_;  // of the sender's clock and the tunnel's
  double tunnel_rate_ = 0;
  std::uint64_t rate_ = 0;
  std::uint64_t bytes_ = 0;
  struct Sent {
    Time when{};
    std::uint64_t bytes = 0;
  };
  std::deque<Sent> history_;  // of about one round trip
};

}  // namespace sheaf::quic
