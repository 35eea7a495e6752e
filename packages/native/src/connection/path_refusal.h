#pragma once

#include <cstdint>

namespace sheaf::quic {

// Why a path cannot be opened, abandoned or used as asked.
enum class PathRefusal : std::uint8_t {
  kNotNegotiated,   // the peer does not speak multipath
  kNotReady,        // wait for HandshakeConfirmedEvent
  kOnlyClient,      // servers do not open paths
  kForbidden,       // the peer disabled active migration
  kPathLimit,       // the limits of both sides allow no more for now
  kNoConnectionId,  // the peer gave none yet: wait for PathsAvailableEvent
  kUnknownPath,
  kLastPath,
  kUnknownStream,
  kOtherServer,  // the path leads to another server than the one that has the stream
};

}  // namespace sheaf::quic
