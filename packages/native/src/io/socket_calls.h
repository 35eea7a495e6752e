#pragma once

#include <cstdint>
#include <string>

#include "util/address.h"

namespace sheaf::io {

// Describes a failed system call in a message that names the address. Carries errno's name, such as
// "EADDRINUSE".
struct SocketError {
  int number = 0;
  std::string message;
};

// Describes a `call` about `address` that failed with the error `number`.
SocketError socket_error(int number, const char* call, const quic::Address& address);

// Returns true for the error of a call that would have to wait.
bool would_block(int error);

// Sets an option with an integer as value. Returns false when the system refuses it.
bool set_option(int descriptor, int level, int option, int value = 1);

enum class SocketBuffer : std::uint8_t { kReceive, kSend };
// Asks for room for a burst of datagrams. Gets less where the system's limits are lower.
void enlarge(int descriptor, SocketBuffer buffer);

// Lets nothing fragment the datagrams of a socket (RFC 9000 §14), and leaves their size to the
// engine (RFC 8899 §3). An IPv6 socket gets the options of both families, since it may carry IPv4.
void forbid_fragments(int descriptor, bool ipv6);

}  // namespace sheaf::io
