#pragma once

#include "wire/types.h"

namespace sheaf::quic {

// The error code that represents kLost in layers that know only resets (docs/reference/wire.md).
inline constexpr std::uint64_t k_backend_lost = 0x5ea0;

// Events are coalesced: a stream has at most one pending event of each kind.
struct StreamEvent {
  enum class Kind : std::uint8_t {
    kOpened,        // the peer opened it
    kReadable,      // bytes, the end, or a reset can be read
    kWritable,      // the send buffer fell below its low-water mark after `write` had refused bytes
    kStopSending,   // the peer does not want more; `value` is its error
    kReset,         // the peer reset its side; `value` is its error, as `read` would report it
    kAcknowledged,  // `value` is the offset up to which the peer has everything
    // Its backend is gone: nothing more arrives, and nothing sent counts as received. `value` is
    // the offset up to which everything arrived. These bytes can still be read; kClosed follows
    // once they were read or refused.
    kLost,
    kClosed,            // both sides are done; the id is forgotten after this event
    kStreamsAvailable,  // more streams may be opened; `stream` only tells the directionality
  };
  Kind kind;
  StreamId stream;
  std::uint64_t value = 0;
};

}  // namespace sheaf::quic
