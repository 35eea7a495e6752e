#pragma once

#include <compare>
#include <cstdint>

namespace sheaf::quic {

// A server that takes part in a connection beside the primary (docs/internals/multi-end.md); the
// primary names it.
struct BackendId {
  static constexpr std::uint32_t k_maximum = 63;
  std::uint32_t value = 0;
  auto operator<=>(const BackendId&) const = default;
};

}  // namespace sheaf::quic
