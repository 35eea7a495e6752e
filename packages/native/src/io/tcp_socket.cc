#include "io/tcp_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace sheaf::io {

bool limit_unsent(int descriptor, std::uint32_t bytes) {
  return setsockopt(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes) == 0;
}

}  // namespace sheaf::io
