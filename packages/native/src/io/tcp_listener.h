#pragma once

#include "io/socket_calls.h"
#include "util/result.h"

namespace sheaf::io {

// A listening TCP socket, which the caller closes.
struct TcpListener {
  int descriptor = -1;
  quic::Address local;
};

// Whether another program may hold the port of a listener that is opened.
enum class PortUse : std::uint8_t { kExclusive, kShared };

// Opens a listening socket whose port further ones of this user may share (SO_REUSEPORT); the
// kernel divides connections among them. With port 0 the system chooses a free one. `kExclusive`
// refuses a port that anybody listens on: a program that joined the sockets of another one would
// take connections away from it.
quic::Result<TcpListener, SocketError> open_tcp_listener(const quic::Address& local, PortUse use);

// Returns a second descriptor of the same socket, or the negated errno.
int duplicate_descriptor(int descriptor);

}  // namespace sheaf::io
