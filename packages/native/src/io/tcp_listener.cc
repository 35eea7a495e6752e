#include "io/tcp_listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "io/descriptor.h"
#include "io/socket_address.h"

namespace sheaf::io {

using quic::Address;

namespace {

// Connections that wait to be accepted; the system has a lower maximum. Node has the same.
constexpr int k_backlog = 511;

int open_socket(bool ipv6) {
  return socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

// Binds a socket. Connections of an earlier listener that wait for their last packets do not keep
// the port (SO_REUSEADDR).
bool bind_to(int descriptor, bool ipv6, const Address& local) {
  set_option(descriptor, SOL_SOCKET, SO_REUSEADDR);
  if (ipv6) set_option(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  sockaddr_storage address;
  const socklen_t length = to_sockaddr(local, ipv6, address);
  return bind(descriptor, reinterpret_cast<sockaddr*>(&address), length) == 0;
}

// Returns whether nobody listens on a port. A socket that shares nothing finds all others.
bool is_free(const Address& local, bool ipv6) {
  const Descriptor probe(open_socket(ipv6));
  return probe.open() && bind_to(probe.number(), ipv6, local);
}

}  // namespace

quic::Result<TcpListener, SocketError> open_tcp_listener(const Address& local, PortUse use) {
  const auto failed = [&](const char* call) { return socket_error(errno, call, local); };
  const bool ipv6 = local.family == Address::Family::kIpv6;
  if (use == PortUse::kExclusive && !is_free(local, ipv6)) return failed("bind");
  Descriptor descriptor(open_socket(ipv6));
  if (!descriptor.open()) return failed("socket");
  if (!set_option(descriptor.number(), SOL_SOCKET, SO_REUSEPORT)) return failed("setsockopt");
  if (!bind_to(descriptor.number(), ipv6, local)) return failed("bind");
  if (listen(descriptor.number(), k_backlog) != 0) return failed("listen");
  sockaddr_storage bound;
  socklen_t length = sizeof bound;
  if (getsockname(descriptor.number(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    return failed("getsockname");
  }
  return TcpListener{.descriptor = descriptor.release(), .local = from_sockaddr(bound)};
}

int duplicate_descriptor(int descriptor) {
  const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  return copy < 0 ? -errno : copy;
}

}  // namespace sheaf::io
