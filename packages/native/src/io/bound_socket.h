#pragma once

#include <cstdint>
#include <optional>

#include "io/socket_calls.h"
#include "util/address.h"
#include "util/result.h"

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

// A bound UDP socket, which the caller closes.
struct BoundUdp {
  int descriptor = -1;
  quic::Address local;
};

// Opens a UDP socket whose address sockets of this user may have that are opened later. Refuses a
// port that anybody else has; port 0 takes a free one.
quic::Result<BoundUdp, SocketError> open_bound_udp(const quic::Address& local);

}  // namespace sheaf::io
