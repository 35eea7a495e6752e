#pragma once

#include <cstdint>
#include <string>

#include "util/result.h"

namespace sheaf::quic {

// Error codes of RFC 9000 §20.1
enum class TransportErrorCode : std::uint64_t {
  kNoError = 0x0,
  kInternalError = 0x1,
  kConnectionRefused = 0x2,
  kFlowControlError = 0x3,
  kStreamLimitError = 0x4,
  kStreamStateError = 0x5,
  kFinalSizeError = 0x6,
  kFrameEncodingError = 0x7,
  kTransportParameterError = 0x8,
  kConnectionIdLimitError = 0x9,
  kProtocolViolation = 0xa,
  kInvalidToken = 0xb,
  kApplicationError = 0xc,
  kCryptoBufferExceeded = 0xd,
  kKeyUpdateError = 0xe,
  kAeadLimitReached = 0xf,
  kNoViablePath = 0x10,
  kVersionNegotiationError = 0x11,  // RFC 9368 §10.2
  // Reasons in PATH_ABANDON (RFC 10069 §4.2.1).
  kApplicationAbandonPath = 0x3e,
  kCryptoErrorBase = 0x100,  // plus the TLS alert
  kPathResourceLimitReached = 0x3e75,
  kPathUnstableOrPoor = 0x3e76,
  kNoCidAvailableForPath = 0x3e77,
};

// A rule that the peer broke. The connection closes with this code.
struct TransportError {
  TransportErrorCode code = TransportErrorCode::kNoError;
  std::uint64_t frame_type = 0;  // 0 when no frame is to blame
  std::string reason;
};

using TransportStatus = Status<TransportError>;

// Returns "FLOW_CONTROL_ERROR", "CRYPTO_ERROR 0x12a", or "0x1234" for an unknown code.
std::string to_string(TransportErrorCode code);

}  // namespace sheaf::quic
