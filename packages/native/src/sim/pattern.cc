#include "sim/pattern.h"

#include <algorithm>
#include <vector>

namespace sheaf::quic {

namespace {

// A prime, so that the pattern rarely lines up with packet or buffer sizes
constexpr std::size_t k_period = 65521;

const std::vector<std::uint8_t>& two_periods() {
  static const std::vector<std::uint8_t> made = [] {
    std::vector<std::uint8_t> bytes(2 * k_period);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::size_t at = i % k_period;
      bytes[i] = static_cast<std::uint8_t>(at ^ at >> 8);
    }
    return bytes;
  }();
  return made;
}

}  // namespace

Bytes pattern_from(std::uint64_t offset, std::uint64_t most) {
  const std::size_t size = std::min<std::uint64_t>(most, k_period);
  return Bytes(two_periods()).subspan(offset % k_period, size);
}

bool matches_pattern(Bytes bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const Bytes expected = pattern_from(offset, bytes.size());
    if (!std::ranges::equal(bytes.first(expected.size()), expected)) return false;
    offset += expected.size();
    bytes = bytes.subspan(expected.size());
  }
  return true;
}

}  // namespace sheaf::quic
