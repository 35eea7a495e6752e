#pragma once

#include <array>
#include <cstdint>

#include "util/address.h"

namespace sheaf::quic {

// Creates an address as scenarios write it: ipv4({10, 0, 0, 1}, 443).
constexpr Address ipv4(const std::array<std::uint8_t, 4>& ip, std::uint16_t port) {
  Address address{.port = port, .family = Address::Family::kIpv4};
  for (std::size_t i = 0; i < ip.size(); ++i) address.ip[i] = ip[i];
  return address;
}

// Creates the unique local address fd00::LAST (RFC 4193).
constexpr Address ipv6(std::uint8_t last, std::uint16_t port) {
  Address address{.port = port, .family = Address::Family::kIpv6};
  address.ip[0] = 0xfd;
  address.ip[15] = last;
  return address;
}

}  // namespace sheaf::quic
