#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "util/bytes.h"
#include "util/time.h"

namespace sheaf::quic {

// What the server of a tunnel tells about one inner flow, so that the flow's server can adapt to
// the tunnel (TECC, NSDI 2024, §4.1). Bytes are those of inner UDP payloads.
struct FeedbackReport {
  std::uint64_t sequence = 0;     // the highest one counts
  Duration made{};                // when, by the tunnel's clock
  std::uint64_t rate = 0;         // bytes per second that the tunnel sends of this flow
  std::uint64_t least_queue = 0;  // bytes, since the last report
  Duration oldest_wait{};
  std::uint64_t arrived = 0;  // bytes from the flow's server so far
  std::uint64_t left = 0;     // of them, bytes that the tunnel has sent or dropped
  // Packets of the flow since the last report, and how many of them were sent again
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_repeated = 0;
  Duration tunnel_round_trip{};  // the smallest one, between the tunnel's ends

  bool operator==(const FeedbackReport&) const = default;
};

// Ten variable-length integers, times in microseconds.
inline constexpr std::size_t k_longest_feedback_report = 10 * 8;
void encode(Writer& writer, const FeedbackReport& report);
// Returns nothing when the bytes are not one report, or when it contradicts itself.
std::optional<FeedbackReport> decode_feedback_report(Bytes bytes);

}  // namespace sheaf::quic
