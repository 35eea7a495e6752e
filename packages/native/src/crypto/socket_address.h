#pragma once

#include <sys/socket.h>

#include "util/address.h"

namespace sheaf::quic {

// An address in the form that ngtcp2 uses. An address without a family is all zero.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);

  explicit SocketAddress(const Address& address);
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

}  // namespace sheaf::quic
