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
// "127.0.0.1", "::1", "fe80::1%eth0" (RFC 4007 §11); nothing for anything else, and for a zone that
// is not here.
std::optional<quic::Address> parse_address(std::string_view ip, std::uint16_t port);
// A link-local address without a zone is meant on the link of `local`.
quic::Address on_link_of(const quic::Address& remote, const quic::Address& local);
// Without the port, with the zone.
std::string ip_string(const quic::Address& address);

}  // namespace sheaf::io
