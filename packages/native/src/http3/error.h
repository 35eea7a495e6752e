#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "util/result.h"

namespace sheaf::http3 {

// RFC 9114 §8.1, RFC 9204 §6, RFC 9297 §5.2.
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

// "H3_FRAME_ERROR"; "0x1234" for one that is not known.
std::string to_string(ErrorCode code);

// A rule that the peer broke and that costs it the connection (RFC 9114 §8).
struct ConnectionError {
  ErrorCode code = ErrorCode::kNoError;
  std::string_view reason;  // static text
};

using ConnectionStatus = quic::Status<ConnectionError>;

// Why a call of the application was refused.
enum class Refusal : std::uint8_t {
  kNotReady,        // our control streams are not open, or the peer's SETTINGS have not arrived
  kStreamLimit,     // wait for StreamsAvailable
  kGoingAway,       // the peer sent GOAWAY: use another connection
  kUnknownStream,   // closed, or never was a request
  kWrongState,      // e.g. a body before the response, or after its end
  kInvalidField,    // name or value that RFC 9114 §4.2 forbids
  kFieldsTooLarge,  // beyond the peer's SETTINGS_MAX_FIELD_SECTION_SIZE
  kNotSupported,    // by this protocol or by the peer
  kConnectionClosed,
};

}  // namespace sheaf::http3
