#pragma once

#include <array>
#include <cstdint>

#include "util/bytes.h"
#include "wire/types.h"

namespace sheaf::quic {

// TLS 1.3 cipher suites that QUIC may use (RFC 9001 §5.3), by their code point.
enum class CipherSuite : std::uint16_t {
  kAes128GcmSha256 = 0x1301,
  kAes256GcmSha384 = 0x1302,
  kChacha20Poly1305Sha256 = 0x1303,
};
constexpr bool known(CipherSuite suite) {
  return suite == CipherSuite::kAes128GcmSha256 || suite == CipherSuite::kAes256GcmSha384 ||
         suite == CipherSuite::kChacha20Poly1305Sha256;
}
// Length of the suite's hash (RFC 8446 §7.1)
constexpr std::uint8_t secret_length(CipherSuite suite) {
  return suite == CipherSuite::kAes256GcmSha384 ? 48 : 32;
}

// The secret that seals or opens packets of one direction, here or on another server. It is wiped
// when destroyed, and never printed.
struct TrafficSecret {
  static constexpr std::size_t k_max_length = 48;
  CipherSuite suite = CipherSuite::kAes128GcmSha256;
  std::uint32_t version = k_version_1;
  std::array<std::uint8_t, k_max_length> bytes{};
  std::uint8_t length = 0;

  TrafficSecret() = default;
  TrafficSecret(const TrafficSecret&) = default;
  TrafficSecret& operator=(const TrafficSecret&) = default;
  ~TrafficSecret();
  Bytes view() const { return {bytes.data(), length}; }
};

}  // namespace sheaf::quic
