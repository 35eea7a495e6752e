#pragma once

#include <variant>
#include <vector>

#include "multi_end/credit_leases.h"
#include "util/result.h"

namespace sheaf::quic {

// The sender has heard the client: the connection is not idle. Either direction.
struct ClientHeard {};

// What a backend and its primary tell each other about one hand-over (docs/internals/multi-end.md
// has the layout).
struct BackendMessage {
  using Body = std::variant<LeaseRequest, LeaseGrant, LeaseReturn, ReceivedReport, ClientHeard>;
  PathId path;  // that was handed over: what is late and about an earlier one is known by it
  Body body;
};

enum class BackendMessageFault : std::uint8_t {
  kUnknownVersion,
  kMalformed,   // of an unknown type, truncated, or with bytes left over
  kOutOfRange,  // a value that no node of this version writes
};

// Less than a hundred bytes.
std::vector<std::uint8_t> encode_backend_message(const BackendMessage& message);
Result<BackendMessage, BackendMessageFault> decode_backend_message(Bytes bytes);

}  // namespace sheaf::quic
