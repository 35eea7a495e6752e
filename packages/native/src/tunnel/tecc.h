#pragma once

#include <cstdint>
#include <optional>

#include "tunnel/feedback_report.h"

namespace sheaf::quic {

struct TeccConfig {
  // The published formula adds a share of the tunnel's rate to bytes that wait. `kLiteral` does so
  // with seconds as the unit of time. `kMended` takes what is sent again in one cycle instead.
  enum class Units : std::uint8_t { kLiteral, kMended };

  Units units = Units::kMended;
  double ewma_weight = 0.5;     // not published
  double drain_share = 2. / 3;  // theta: of the round trip, in which a queue is to be drained
  double lasting_share = 0.95;  // delta: of what is sent again that still holds one loop later
  double max_penalty = 0.5;     // the strongest one, of 1
  double additive_packets = 1;  // in a round trip, by which flows become equal
};

// The sender's algorithm of TECC (NSDI 2024, algorithm 1 with equations 1 to 7): the rate of an
// inner connection follows the tunnel's rate, less what drains the queue at the tunnel.
class Tecc {
 public:
  explicit Tecc(const TeccConfig& config) : config_(config) {}

  // Takes a report. An old one is ignored. `round_trip` is that of the inner connection,
  // `packet_size` its largest packet in bytes.
  void on_report(const FeedbackReport& report, Duration round_trip, std::uint64_t packet_size);
  // Bytes per second; nothing before the first report.
  std::optional<std::uint64_t> rate() const { return rate_; }
  double utilisation() const { return utilisation_; }

 private:
  // Returns how much the tunnel has too much to send, as a share of what it sends in the time in
  // which this is to end.
  double excess(const FeedbackReport& report, Duration round_trip) const;

  TeccConfig config_;
  std::uint64_t sequence_ = 0;
  double utilisation_ = 1;
  std::optional<std::uint64_t> rate_;
};

}  // namespace sheaf::quic
