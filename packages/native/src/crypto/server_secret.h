#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "crypto/wipe.h"
#include "util/bytes.h"

namespace sheaf::quic {

// A secret that a server keeps over restarts, or shares with other servers. The keys of its tokens,
// stateless resets and tickets come from it, so that they outlive the process. It is wiped when
// destroyed, and never printed.
struct ServerSecret {
  static constexpr std::size_t k_length = 32;
  // The numbers have three bits. One of them stands for connection ids that name no secret
  // (draft-ietf-quic-load-balancers-21 §3.1).
  static constexpr std::uint8_t k_numbers = 7;

  std::uint8_t number = 0;  // below k_numbers; no two secrets of a server have the same
  std::array<std::uint8_t, k_length> bytes{};

  ServerSecret() = default;
  ServerSecret(const ServerSecret&) = default;
  ServerSecret& operator=(const ServerSecret&) = default;
  ~ServerSecret() { wipe(bytes.data(), bytes.size()); }
};
// The first one makes keys for what is new, the others for what was made before.
using ServerSecrets = std::vector<ServerSecret>;

// Fills `key` with HKDF-Expand (RFC 5869 §2.3) of the secret, which is uniformly random and needs
// no extraction (§3.3). Each purpose has a label of its own. Ends the process when GnuTLS fails,
// which a key of at most 8160 bytes excludes: a key of zeros would be known to everybody.
void derive_key(const ServerSecret& secret, std::string_view label, MutableBytes key);

}  // namespace sheaf::quic
