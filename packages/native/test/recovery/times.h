#pragma once

#include <cstdint>

#include "util/time.h"

namespace sheaf::quic {

inline constexpr Duration k_max_ack_delay = std::chrono::milliseconds(25);

inline Time at_ms(std::int64_t milliseconds) {
  return Time(std::chrono::milliseconds(milliseconds));
}

}  // namespace sheaf::quic
