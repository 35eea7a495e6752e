#pragma once

#include <cstdint>

#include "util/time.h"

namespace sheaf::quic {

// When a receiver acknowledges (draft-ietf-quic-ack-frequency-11 §4). The defaults are those of
// RFC 9000 §13.2, but for the delay, which each side announces.
struct AckFrequency {
  std::uint32_t threshold = 1;  // ack-eliciting packets that need no acknowledgement yet
  // Packets that a gap may be overtaken by before an acknowledgement leaves at once; 0: any number
  std::uint32_t reordering_threshold = 1;
  Duration max_ack_delay = std::chrono::milliseconds(25);
};

}  // namespace sheaf::quic
