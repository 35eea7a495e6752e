#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string_view>

#include "util/address.h"

namespace sheaf::io {

// `ipv6_socket`: IPv4 addresses are written in their mapped form (RFC 4291 §2.5.5.2).
socklen_t to_sockaddr(const quic::Address& address, bool ipv6_socket, sockaddr_storage& out);
// Mapped addresses become IPv4.
quic::Address from_sockaddr(const sockaddr_storage& address);
// "127.0.0.1", "::1"; nothing for anything else.
std::optional<quic::Address> parse_address(std::string_view ip, std::uint16_t port);
// Without the port.
std::string ip_string(const quic::Address& address);

}  // namespace sheaf::io
