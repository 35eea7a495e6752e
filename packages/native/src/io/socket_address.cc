#include "io/socket_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>

namespace sheaf::io {

using quic::Address;

socklen_t to_sockaddr(const Address& address, bool ipv6_socket, sockaddr_storage& out) {
  out = {};
  if (!ipv6_socket) {
    auto& ipv4 = reinterpret_cast<sockaddr_in&>(out);
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(address.port);
    std::copy_n(address.ip.begin(), 4, reinterpret_cast<std::uint8_t*>(&ipv4.sin_addr));
    return sizeof ipv4;
  }
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(out);
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(address.port);
  ipv6.sin6_scope_id = address.scope_id;
  if (address.family == Address::Family::kIpv4) {
    ipv6.sin6_addr.s6_addr[10] = ipv6.sin6_addr.s6_addr[11] = 0xff;
    std::copy_n(address.ip.begin(), 4, ipv6.sin6_addr.s6_addr + 12);
  } else {
    std::copy_n(address.ip.begin(), 16, ipv6.sin6_addr.s6_addr);
  }
  return sizeof ipv6;
}

Address from_sockaddr(const sockaddr_storage& address) {
  Address out;
  if (address.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
    out.family = Address::Family::kIpv4;
    out.port = ntohs(ipv4.sin_port);
    std::copy_n(reinterpret_cast<const std::uint8_t*>(&ipv4.sin_addr), 4, out.ip.begin());
    return out;
  }
  const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address);
  out.port = ntohs(ipv6.sin6_port);
  if (IN6_IS_ADDR_V4MAPPED(&ipv6.sin6_addr)) {
    out.family = Address::Family::kIpv4;
    std::copy_n(ipv6.sin6_addr.s6_addr + 12, 4, out.ip.begin());
  } else {
    out.family = Address::Family::kIpv6;
    out.scope_id = ipv6.sin6_scope_id;
    std::copy_n(ipv6.sin6_addr.s6_addr, 16, out.ip.begin());
  }
  return out;
}

std::optional<Address> parse_address(std::string_view ip, std::uint16_t port) {
  const std::string text(ip);
  Address out;
  out.port = port;
  if (inet_pton(AF_INET, text.c_str(), out.ip.data()) == 1) {
    out.family = Address::Family::kIpv4;
    return out;
  }
  if (inet_pton(AF_INET6, text.c_str(), out.ip.data()) == 1) {
    out.family = Address::Family::kIpv6;
    return out;
  }
  return std::nullopt;
}

std::string ip_string(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const int family = address.family == Address::Family::kIpv4 ? AF_INET : AF_INET6;
  inet_ntop(family, address.ip.data(), text, sizeof text);
  return text;
}

}  // namespace sheaf::io
