#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string_view>

#include "util/address.h"

namespace sheaf::io {

// Writes an address for a system call, and returns its length in bytes. With `ipv6_socket`, IPv4
// addresses are written in their mapped form (RFC 4291 §2.5.5.2). Without, the system refuses IPv6
// addresses.
socklen_t to_sockaddr(const quic::Address& address, bool ipv6_socket, sockaddr_storage& out);
// Reads an address from a system call. A mapped address becomes an IPv4 address.
quic::Address from_sockaddr(const sockaddr_storage& address);
// Parses "127.0.0.1", "::1" or "fe80::1%eth0" (RFC 4007 §11). Returns nothing for any other text,
// and for a zone that this host does not have.
std::optional<quic::Address> parse_address(std::string_view ip, std::uint16_t port);
// Gives a link-local address without a zone the zone of `local`.
quic::Address on_link_of(const quic::Address& remote, const quic::Address& local);
// Returns the text of an address with its zone and without its port.
std::string ip_string(const quic::Address& address);

}  // namespace sheaf::io
