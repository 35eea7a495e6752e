#pragma once

#include <vector>

#include "util/bytes.h"

namespace sheaf::quic {

// Returns the byte of a test stream at an offset, which differs between streams and between blocks.
inline std::uint8_t pattern_byte(std::uint64_t stream, std::uint64_t offset) {
  return static_cast<std::uint8_t>((stream * 31 + offset + (offset >> 8) * 7) ^ (offset >> 16));
}

inline std::vector<std::uint8_t> pattern(std::uint64_t stream, std::uint64_t offset,
                                         std::size_t length) {
  std::vector<std::uint8_t> bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = pattern_byte(stream, offset + i);
  return bytes;
}

// Returns whether the bytes are those of the stream from the offset on.
inline bool matches_pattern(std::uint64_t stream, std::uint64_t offset, Bytes bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != pattern_byte(stream, offset + i)) return false;
  }
  return true;
}

}  // namespace sheaf::quic
