#include "http3/error.h"

#include <cstdio>

namespace sheaf::http3 {

std::string to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kDatagramError:
      return "H3_DATAGRAM_ERROR";
    case ErrorCode::kNoError:
      return "H3_NO_ERROR";
    case ErrorCode::kGeneralProtocolError:
      return "H3_GENERAL_PROTOCOL_ERROR";
    case ErrorCode::kInternalError:
      return "H3_INTERNAL_ERROR";
    case ErrorCode::kStreamCreationError:
      return "H3_STREAM_CREATION_ERROR";
    case ErrorCode::kClosedCriticalStream:
      return "H3_CLOSED_CRITICAL_STREAM";
    case ErrorCode::kFrameUnexpected:
      return "H3_FRAME_UNEXPECTED";
    case ErrorCode::kFrameError:
      return "H3_FRAME_ERROR";
    case ErrorCode::kExcessiveLoad:
      return "H3_EXCESSIVE_LOAD";
    case ErrorCode::kIdError:
      return "H3_ID_ERROR";
    case ErrorCode::kSettingsError:
      return "H3_SETTINGS_ERROR";
    case ErrorCode::kMissingSettings:
      return "H3_MISSING_SETTINGS";
    case ErrorCode::kRequestRejected:
      return "H3_REQUEST_REJECTED";
    case ErrorCode::kRequestCancelled:
      return "H3_REQUEST_CANCELLED";
    case ErrorCode::kRequestIncomplete:
      return "H3_REQUEST_INCOMPLETE";
    case ErrorCode::kMessageError:
      return "H3_MESSAGE_ERROR";
    case ErrorCode::kConnectError:
      return "H3_CONNECT_ERROR";
    case ErrorCode::kVersionFallback:
      return "H3_VERSION_FALLBACK";
    case ErrorCode::kQpackDecompressionFailed:
      return "QPACK_DECOMPRESSION_FAILED";
    case ErrorCode::kQpackEncoderStreamError:
      return "QPACK_ENCODER_STREAM_ERROR";
    case ErrorCode::kQpackDecoderStreamError:
      return "QPACK_DECODER_STREAM_ERROR";
  }
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value_of(code)));
  return text;
}

}  // namespace sheaf::http3
