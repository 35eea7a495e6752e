#pragma once

#include <algorithm>

#include "util/address.h"

namespace sheaf::quic {

// Whether somebody whom the network gave this address can send there: to one machine, not to many
// or none.
inline bool leads_to_one_host(const Address& address) {
  if (address.ip == decltype(address.ip){}) return false;
  // RFC 4291 §2.5.5.2: IPv4 in the form of IPv6 would have to be looked at once more.
  constexpr std::array<std::uint8_t, 12> k_mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(k_mapped.begin(), k_mapped.end(), address.ip.begin())) return false;
  // RFC 5771 §3, RFC 1112 §4: from 224.0.0.0 on; RFC 4291 §2.7: ff00::/8.
  return address.ip[0] < (address.family == Address::Family::kIpv4 ? 0xe0 : 0xff);
}

}  // namespace sheaf::quic
