#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace sheaf::quic {

// Converts "c3 ff00" to bytes; spaces are ignored.
inline std::vector<std::uint8_t> from_hex(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  int high = -1;
  for (char character : text) {
    if (character == ' ') continue;
    const int digit = character <= '9' ? character - '0' : (character | 0x20) - 'a' + 10;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<std::uint8_t>(high << 4 | digit));
      high = -1;
    }
  }
  return bytes;
}

}  // namespace sheaf::quic
