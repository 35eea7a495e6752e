#pragma once

#include "crypto/traffic_secret.h"

namespace sheaf::quic {

// Returns a predictable traffic secret, for connections without a handshake: equal values give
// equal packets.
inline TrafficSecret known_secret(std::uint8_t value) {
  TrafficSecret secret{};
  secret.suite = CipherSuite::kAes128GcmSha256;
  secret.version = k_version_1;
  secret.length = 32;
  secret.bytes.fill(value);
  return secret;
}

}  // namespace sheaf::quic
