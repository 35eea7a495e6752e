#include "io/tcp_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace sheaf::io {

bool limit_unsent(int descriptor, std::uint32_t bytes) {
  return setsockopt(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes) == 0;
}

bool is_gone(int descriptor) {
  pollfd watched{.fd = descriptor, .events = 0, .revents = 0};
  return poll(&watched, 1, 0) > 0 && (watched.revents & POLLHUP) != 0;
}

}  // namespace sheaf::io
