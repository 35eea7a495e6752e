#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

namespace sheaf::io {

// Returns the descriptor of the UDP socket on this port.
inline int find_socket(std::uint16_t port) {
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
        address.sin_family == AF_INET && ntohs(address.sin_port) == port) {
      return descriptor;
    }
  }
  return -1;
}

}  // namespace sheaf::io
