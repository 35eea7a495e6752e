#include "io/bound_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "io/socket_address.h"
#include "io/tcp_listener.h"
#include "io/udp_socket.h"

namespace sheaf::io {

namespace {

// Returns a number that no option has where there is no socket.
int option_of(int descriptor, int option) {
  int value = -1;
  socklen_t length = sizeof value;
  return getsockopt(descriptor, SOL_SOCKET, option, &value, &length) == 0 ? value : -1;
}

bool is_of(int descriptor, BoundKind kind) {
  const int family = option_of(descriptor, SO_DOMAIN);
  if (family != AF_INET && family != AF_INET6) return false;
  const int protocol = option_of(descriptor, SO_PROTOCOL);
  return kind == BoundKind::kUdp
             ? protocol == IPPROTO_UDP
             : protocol == IPPROTO_TCP && option_of(descriptor, SO_ACCEPTCONN) == 1;
}

}  // namespace

std::optional<BoundSocket> bound_socket(int descriptor, BoundKind kind) {
  if (!is_of(descriptor, kind)) return std::nullopt;
  sockaddr_storage address;
  socklen_t length = sizeof address;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return std::nullopt;
  const BoundSocket bound{.address = from_sockaddr(address),
                          .shared = option_of(descriptor, SO_REUSEPORT) == 1};
  return bound.address.port == 0 ? std::nullopt : std::optional(bound);
}

quic::Result<BoundUdp, SocketError> open_bound_udp(const quic::Address& local) {
  const auto socket = UdpSocket::open(local, {.segmentation_offload = false});
  if (!socket) return socket.error();
  // Only now: another process that has the port keeps it for itself.
  (*socket)->share_address();
  const int copy = duplicate_descriptor((*socket)->descriptor());
  if (copy < 0) return socket_error(-copy, "fcntl", local);
  return BoundUdp{.descriptor = copy, .local = (*socket)->local_address()};
}

}  // namespace sheaf::io
