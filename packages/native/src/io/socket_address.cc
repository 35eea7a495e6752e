#include "io/socket_address.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace sheaf::io {

using quic::Address;

namespace {

bool is_link_local(const Address& address) {
  return address.family == Address::Family::kIpv6 &&
         IN6_IS_ADDR_LINKLOCAL(reinterpret_cast<const in6_addr*>(address.ip.data()));
}

// RFC 4007 §11.2: a zone is the name or the index of an interface. Returns 0 when there is no such
// interface.
std::uint32_t scope_of(const std::string& zone) {
  if (const unsigned index = if_nametoindex(zone.c_str()); index != 0) return index;
  std::uint32_t index = 0;
  const char* end = zone.data() + zone.size();
  const auto parsed = std::from_chars(zone.data(), end, index);
  return parsed.ec == std::errc{} && parsed.ptr == end ? index : 0;
}

std::string zone_of(std::uint32_t scope_id) {
  char name[IF_NAMESIZE];
  return if_indextoname(scope_id, name) ? name : std::to_string(scope_id);
}

}  // namespace

socklen_t to_sockaddr(const Address& address, bool ipv6_socket, sockaddr_storage& out) {
  out = {};
  if (!ipv6_socket && address.family != Address::Family::kIpv6) {
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
  const std::size_t percent = ip.find('%');
  const std::string text(ip.substr(0, percent));
  Address out;
  out.port = port;
  const bool zoned = percent != std::string_view::npos;
  if (!zoned && inet_pton(AF_INET, text.c_str(), out.ip.data()) == 1) {
    out.family = Address::Family::kIpv4;
    return out;
  }
  if (inet_pton(AF_INET6, text.c_str(), out.ip.data()) != 1) return std::nullopt;
  out.family = Address::Family::kIpv6;
  if (!zoned) return out;
  // The kernel reports no zone for any other kind of address.
  if (is_link_local(out)) out.scope_id = scope_of(std::string(ip.substr(percent + 1)));
  return out.scope_id != 0 ? std::optional(out) : std::nullopt;
}

Address on_link_of(const Address& remote, const Address& local) {
  Address out = remote;
  if (is_link_local(out) && out.scope_id == 0) out.scope_id = local.scope_id;
  return out;
}

std::string ip_string(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const int family = address.family == Address::Family::kIpv4 ? AF_INET : AF_INET6;
  inet_ntop(family, address.ip.data(), text, sizeof text);
  return address.scope_id == 0 ? text : text + ("%" + zone_of(address.scope_id));
}

}  // namespace sheaf::io
