#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "util/result.h"

namespace sheaf::http3 {

// Error codes of HTTP/3 (RFC 9114 §8.1), QPACK (RFC 9204 §6) and HTTP datagrams (RFC 9297 §5.2).
enum class ErrorCode : std::uint64_t {
  kDatagramError = 0x33,
  kNoError = 0x100,
  kGeneralProtocolError = 0x101,
  kInternalError = 0x102,
  kStreamCreationError = 0x103,
  kClosedCriticalStream = 0x104,
  kFrameUnexpected = 0x105,
  kFrameError = 0x106,
  kExcessiveLoad = 0x107,
  kIdError = 0x108,
  kSettingsError = 0x109,
  kMissingSettings = 0x10a,
  kRequestRejected = 0x10b,
  kRequestCancelled = 0x10c,
  kRequestIncomplete = 0x10d,
  kMessageError = 0x10e,
  kConnectError = 0x10f,
  kVersionFallback = 0x110,
  kQpackDecompressionFailed = 0x200,
  kQpackEncoderStreamError = 0x201,
  kQpackDecoderStreamError = 0x202,
};

constexpr std::uint64_t value_of(ErrorCode code) { return static_cast<std::uint64_t>(code); }

// Returns the name of a code, such as "H3_FRAME_ERROR", or its number ("0x1234") when it is
// unknown.
std::string to_string(ErrorCode code);

// Describes a violation by the peer that closes the connection (RFC 9114 §8).
struct ConnectionError {
  ErrorCode code = ErrorCode::kNoError;
  std::string_view reason;  // static text
};

using ConnectionStatus = quic::Status<ConnectionError>;

// Reasons to refuse a call of the application.
enum class Refusal : std::uint8_t {
  kNotReady,       // the control streams of this side are not open, or the peer's SETTINGS have not
                   // arrived
  kStreamLimit,    // no stream is left until StreamsAvailable
  kGoingAway,      // the peer sent GOAWAY; use another connection
  kUnknownStream,  // the stream is closed, or never was a request
  kWrongState,     // for example a body before the response, or after its end
  kInvalidField,   // a field has a name or value that RFC 9114 §4.2 forbids
  kFieldsTooLarge,  // the fields exceed the peer's SETTINGS_MAX_FIELD_SECTION_SIZE
  kNotSupported,    // the protocol or the peer does not support the call
  kConnectionClosed,
};

}  // namespace sheaf::http3
