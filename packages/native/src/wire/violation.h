#pragma once

#include "wire/frame.h"
#include "wire/transport_error.h"

namespace sheaf::quic {

// What the peer did wrong, as the error that its connection ends with. `frame`: where it did so.
[[gnu::cold]] inline TransportError violation(TransportErrorCode code, FrameType frame,
                                              const char* reason) {
  return {code, static_cast<std::uint64_t>(frame), reason};
}
[[gnu::cold]] inline TransportError violation(FrameType frame, const char* reason) {
  return violation(TransportErrorCode::kProtocolViolation, frame, reason);
}
// Of no frame in particular.
[[gnu::cold]] inline TransportError violation(const char* reason) {
  return {TransportErrorCode::kProtocolViolation, 0, reason};
}

}  // namespace sheaf::quic
