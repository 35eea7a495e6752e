#include "connection/stats.h"

namespace sheaf::quic {

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
