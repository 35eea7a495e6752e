#pragma once

#include <cstdint>
#include <optional>

#include "util/address.h"

namespace sheaf::io {

// What a process can take over from another one: a listening socket of TCP, or a bound one of UDP
enum class BoundKind : std::uint8_t { kTcp, kUdp };

// Returns the address of a socket of this kind that shares it with other sockets (SO_REUSEPORT).
// Returns nothing for any other descriptor.
std::optional<quic::Address> bound_address(int descriptor, BoundKind kind);

}  // namespace sheaf::io
