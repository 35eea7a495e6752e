#include "wire/transport_error.h"

#include <cstdio>

namespace sheaf::quic {
namespace {

const char* name_of(TransportErrorCode code) {
  switch (code) {
    case TransportErrorCode::kNoError:
      return "NO_ERROR";
    case TransportErrorCode::kInternalError:
      return "INTERNAL_ERROR";
    case TransportErrorCode::kConnectionRefused:
      return "CONNECTION_REFUSED";
    case TransportErrorCode::kFlowControlError:
      return "FLOW_CONTROL_ERROR";
    case TransportErrorCode::kStreamLimitError:
      return "STREAM_LIMIT_ERROR";
    case TransportErrorCode::kStreamStateError:
      return "STREAM_STATE_ERROR";
    case TransportErrorCode::kFinalSizeError:
      return "FINAL_SIZE_ERROR";
    case TransportErrorCode::kFrameEncodingError:
      return "FRAME_ENCODING_ERROR";
    case TransportErrorCode::kTransportParameterError:
      return "TRANSPORT_PARAMETER_ERROR";
    case TransportErrorCode::kConnectionIdLimitError:
      return "CONNECTION_ID_LIMIT_ERROR";
    case TransportErrorCode::kProtocolViolation:
      return "PROTOCOL_VIOLATION";
    case TransportErrorCode::kInvalidToken:
      return "INVALID_TOKEN";
    case TransportErrorCode::kApplicationError:
      return "APPLICATION_ERROR";
    case TransportErrorCode::kCryptoBufferExceeded:
      return "CRYPTO_BUFFER_EXCEEDED";
    case TransportErrorCode::kKeyUpdateError:
      return "KEY_UPDATE_ERROR";
    case TransportErrorCode::kAeadLimitReached:
      return "AEAD_LIMIT_REACHED";
    case TransportErrorCode::kNoViablePath:
      return "NO_VIABLE_PATH";
    case TransportErrorCode::kVersionNegotiationError:
      return "VERSION_NEGOTIATION_ERROR";
    case TransportErrorCode::kApplicationAbandonPath:
      return "APPLICATION_ABANDON_PATH";
    case TransportErrorCode::kPathResourceLimitReached:
      return "PATH_RESOURCE_LIMIT_REACHED";
    case TransportErrorCode::kPathUnstableOrPoor:
      return "PATH_UNSTABLE_OR_POOR";
    case TransportErrorCode::kNoCidAvailableForPath:
      return "NO_CID_AVAILABLE_FOR_PATH";
    case TransportErrorCode::kCryptoErrorBase:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

std::string to_string(TransportErrorCode code) {
  if (const char* name = name_of(code)) return name;
  const auto value = static_cast<std::uint64_t>(code);
  // CRYPTO_ERROR, 0x0100-0x01ff (RFC 9000 §20.1)
  const bool tls_alert = value >> 8 == 1;
  char text[40];
  std::snprintf(text, sizeof text, "%s0x%llx", tls_alert ? "CRYPTO_ERROR " : "",
                static_cast<unsigned long long>(value));
  return text;
}

}  // namespace sheaf::quic
