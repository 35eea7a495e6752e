#pragma once

#include <cstdint>
#include <optional>

#include "util/address.h"

namespace sheaf::io {

// What a process can take over from another one: a listening socket of TCP, or a bound one of UDP
enum class BoundKind : std::uint8_t { kTcp, kUdp };

struct BoundSocket {
  quic::Address address;
  // Whether other sockets of its user may have the same address (SO_REUSEPORT)
  bool shared = false;

  bool operator==(const BoundSocket&) const = default;
};

// Returns where a socket of this kind is bound. Returns nothing for any other descriptor.
std::optional<BoundSocket> bound_socket(int descriptor, BoundKind kind);

}  // namespace sheaf::io
