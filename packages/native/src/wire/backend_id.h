#pragma once

#include <compare>
#include <cstdint>

namespace sheaf::quic {

// Id of a server beside the primary that takes part in a connection (docs/internals/multi-end.md).
// The primary assigns it.
struct BackendId {
  static constexpr std::uint32_t k_maximum = 63;
  std::uint32_t value = 0;
  auto operator<=>(const BackendId&) const = default;
};

}  // namespace sheaf::quic
