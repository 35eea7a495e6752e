#pragma once

#include <cstdint>

#include "util/bytes.h"

namespace sheaf::quic {

// Compares two tags or tokens of 16 bytes in constant time, so that the place of a difference does
// not show.
inline bool equal_tags(const std::uint8_t* a, const std::uint8_t* b) {
  const std::uint64_t first = load<std::uint64_t>(a) ^ load<std::uint64_t>(b);
  const std::uint64_t second = load<std::uint64_t>(a + 8) ^ load<std::uint64_t>(b + 8);
  return (first | second) == 0;
}

}  // namespace sheaf::quic
