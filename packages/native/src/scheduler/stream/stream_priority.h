#pragma once

#include <compare>
#include <cstdint>

namespace sheaf::quic {

// A node of a dependency tree (RFC 7540 §5.3): that of a stream, or of a group without a stream.
// The client numbers the nodes. A parent may be named before it is known.
struct Dependency {
  static constexpr std::uint64_t k_root = 0;
  static constexpr std::uint16_t k_max_weight = 256;

  std::uint64_t node = k_root;  // the root: the client put the stream in no tree
  std::uint64_t parent = k_root;
  std::uint16_t weight = 16;  // 1 to 256, the share among the children of a node
  bool exclusive = false;     // makes the parent's other children its own
  auto operator<=>(const Dependency&) const = default;
};

// The client's priority for a response, in either form
struct StreamPriority {
  std::uint8_t urgency = 3;  // RFC 9218 §4.1: 0 first, 7 last
  bool incremental = false;  // RFC 9218 §4.2
  Dependency dependency{};
  // Set by us: before everything that a client can request
  bool ahead = false;
  auto operator<=>(const StreamPriority&) const = default;
};

}  // namespace sheaf::quic
