#include "crypto/socket_address.h"

#include <netinet/in.h>

#include <cstring>

namespace sheaf::quic {

SocketAddress::SocketAddress(const Address& address) {
  if (address.family == Address::Family::kIpv6) {
    sockaddr_in6 ipv6{};
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(address.port);
    ipv6.sin6_scope_id = address.scope_id;
    std::memcpy(&ipv6.sin6_addr, address.ip.data(), sizeof ipv6.sin6_addr);
    std::memcpy(&storage, &ipv6, sizeof ipv6);
    length = sizeof ipv6;
    return;
  }
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = htons(address.port);
  std::memcpy(&ipv4.sin_addr, address.ip.data(), sizeof ipv4.sin_addr);
  std::memcpy(&storage, &ipv4, sizeof ipv4);
  length = sizeof ipv4;
}

}  // namespace sheaf::quic
