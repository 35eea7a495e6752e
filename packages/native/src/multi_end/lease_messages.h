#pragma once

#include <variant>
#include <vector>

#include "multi_end/credit_leases.h"
#include "util/result.h"

namespace sheaf::quic {

// Tells that the sender has heard the client, so that the connection is not idle. Both directions.
struct ClientHeard {};

// A message between a backend and its primary about one hand-over (docs/internals/multi-end.md
// shows the layout).
struct BackendMessage {
  using Body = std::variant<LeaseRequest, LeaseGrant, LeaseReturn, ReceivedReport, ClientHeard>;
  PathId path;  // path of the hand-over, which tells late messages about an earlier one apart
  Body body;
};

enum class BackendMessageFault : std::uint8_t {
  kUnknownVersion,
  kMalformed,   // of an unknown type, truncated, or with bytes left over
  kOutOfRange,  // a value that no node of this version writes
};

// Encodes a message, in less than a hundred bytes.
std::vector<std::uint8_t> encode_backend_message(const BackendMessage& message);
Result<BackendMessage, BackendMessageFault> decode_backend_message(Bytes bytes);

}  // namespace sheaf::quic
