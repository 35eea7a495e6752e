#pragma once

#include <algorithm>

#include "crypto/traffic_secret.h"
#include "util/random.h"
#include "wire/hex.h"

namespace sheaf::quic {

inline TrafficSecret make_secret(CipherSuite suite, Bytes bytes,
                                 std::uint32_t version = k_version_1) {
  TrafficSecret secret;
  secret.suite = suite;
  secret.version = version;
  secret.length = static_cast<std::uint8_t>(bytes.size());
  std::ranges::copy(bytes, secret.bytes.begin());
  return secret;
}

inline TrafficSecret random_secret(CipherSuite suite, Random& random) {
  std::vector<std::uint8_t> bytes(suite == CipherSuite::kAes256GcmSha384 ? 48 : 32);
  random.fill(bytes);
  return make_secret(suite, bytes);
}

inline constexpr CipherSuite k_all_suites[] = {CipherSuite::kAes128GcmSha256,
                                               CipherSuite::kAes256GcmSha384,
                                               CipherSuite::kChacha20Poly1305Sha256};

}  // namespace sheaf::quic
