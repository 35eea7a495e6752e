#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

namespace sheaf::quic {

// Holds an IP address and a port without the socket headers. An IPv4 address uses the first four
// bytes.
struct Address {
  enum class Family : std::uint8_t { kNone, kIpv4, kIpv6 };
  std::array<std::uint8_t, 16> ip{};
  std::uint32_t scope_id = 0;  // IPv6 link-local addresses only
  std::uint16_t port = 0;
  Family family = Family::kNone;

  auto operator<=>(const Address&) const = default;
  bool same_ip(const Address& other) const { return family == other.family && ip == other.ip; }
};

// Holds the two addresses of a path as this host sees them.
struct AddressPair {
  Address local;
  Address remote;
  auto operator<=>(const AddressPair&) const = default;
};

// Returns text such as "127.0.0.1:4433" or "[::1]:4433".
std::string to_string(const Address& address);

}  // namespace sheaf::quic
