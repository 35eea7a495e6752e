#pragma once

#include <cstdint>

#include "wire/types.h"

namespace sheaf::quic {

// A stream whose backend sends nothing more. The application goes on from `acknowledged`, or resets
// the stream.
struct OrphanedStream {
  enum class Reason : std::uint8_t {
    kSilent,       // Silence
    kUnreachable,  // SenderWatch; worth remembering
    kFailed,       // the backend says so, with a code of HTTP/3
    kGone,         // the backend has no such grant
    kPaths,        // the client has opened a second path, or abandoned the backend's
  };
  StreamId stream;
  Reason reason = Reason::kGone;
  std::uint64_t code = 0;
  std::uint64_t acknowledged = 0;  // the client has all bytes before it
};

}  // namespace sheaf::quic
