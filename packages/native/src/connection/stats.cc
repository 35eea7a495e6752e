#include "connection/stats.h"

#include <algorithm>

namespace sheaf::quic {

// Before the first round trip a pace is a guess. The window bounds what leaves.
std::uint64_t PathStats::sending_rate() const {
  constexpr double k_least_round_trip = 1e-3;  // seconds
  const double windowed = static_cast<double>(congestion_window) /
                          std::max(to_seconds(smoothed_rtt), k_least_round_trip);
  const double paced = pacing_rate == 0 ? windowed : static_cast<double>(pacing_rate);
  return static_cast<std::uint64_t>(std::min(paced, windowed));
}

std::string_view to_string(DropReason reason) {
  switch (reason) {
    case DropReason::kTooShort:
      return "too_short";
    case DropReason::kUnknownConnectionId:
      return "unknown_connection_id";
    case DropReason::kUndecryptable:
      return "undecryptable";
    case DropReason::kDuplicate:
      return "duplicate";
    case DropReason::kNoKeys:
      return "no_keys";
    case DropReason::kClosing:
      return "closing";
    case DropReason::kInvalidLongHeader:
      return "invalid_long_header";
    case DropReason::kUnsupportedVersion:
      return "unsupported_version";
    case DropReason::kQueueFull:
      return "queue_full";
    case DropReason::kUnread:
      return "datagram_unread";
    case DropReason::kCount:
      break;
  }
  return "unknown";
}

}  // namespace sheaf::quic
