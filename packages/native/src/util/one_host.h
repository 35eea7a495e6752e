#pragma once

#include <algorithm>

#include "util/address.h"

namespace sheaf::quic {

// Returns whether a host that learned this address from the network can send to it: the address
// leads to one machine, not to many or none.
inline bool leads_to_one_host(const Address& address) {
  if (address.ip == decltype(address.ip){}) return false;
  // RFC 4291 §2.5.5.2: an IPv4 address in the form of IPv6 would need the check for IPv4 as well,
  // and is refused.
  constexpr std::array<std::uint8_t, 12> k_mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(k_mapped.begin(), k_mapped.end(), address.ip.begin())) return false;
  // Multicast: from 224.0.0.0 on (RFC 5771 §3, RFC 1112 §4) and ff00::/8 (RFC 4291 §2.7).
  return address.ip[0] < (address.family == Address::Family::kIpv4 ? 0xe0 : 0xff);
}

}  // namespace sheaf::quic
