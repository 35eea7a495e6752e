#pragma once

#include "wire/frame.h"
#include "wire/transport_error.h"

namespace sheaf::quic {

// Returns the error for a rule that the peer broke. `frame` is the frame that broke it.
[[gnu::cold]] inline TransportError violation(TransportErrorCode code, FrameType frame,
                                              const char* reason) {
  return {code, static_cast<std::uint64_t>(frame), reason};
}
[[gnu::cold]] inline TransportError violation(FrameType frame, const char* reason) {
  return violation(TransportErrorCode::kProtocolViolation, frame, reason);
}
// Returns the error for a rule that no particular frame broke.
[[gnu::cold]] inline TransportError violation(const char* reason) {
  return {TransportErrorCode::kProtocolViolation, 0, reason};
}

}  // namespace sheaf::quic
