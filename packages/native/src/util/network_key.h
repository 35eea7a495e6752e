#pragma once

#include <algorithm>

#include "util/address.h"

namespace sheaf::quic {

// Names the network of a client: an IPv4 address, or the 56 bits of an IPv6 address that a
// household or a small site has to itself (RFC 6177 §2). Nobody changes it for free.
using NetworkKey = std::array<std::uint8_t, 8>;

inline NetworkKey network_of(const Address& address) {
  NetworkKey key{static_cast<std::uint8_t>(address.family)};
  std::copy_n(address.ip.begin(), key.size() - 1, key.begin() + 1);
  return key;
}

}  // namespace sheaf::quic
