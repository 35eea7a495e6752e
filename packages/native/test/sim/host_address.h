#pragma once

#include "util/address.h"

namespace sheaf::quic {

// The address 10.0.0.`last` of a simulated host.
inline Address address(std::uint8_t last, std::uint16_t port = 443) {
  Address made{.port = port, .family = Address::Family::kIpv4};
  made.ip = {10, 0, 0, last};
  return made;
}

}  // namespace sheaf::quic
