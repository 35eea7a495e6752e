#pragma once

#include <string_view>

#include "crypto/traffic_secret.h"

namespace sheaf::quic {

// Computes HKDF-Expand-Label (RFC 8446 §7.1) with the hash of the suite. `label` lacks the prefix
// "tls13 ". `context` has at most 32 bytes.
void expand_label(const TrafficSecret& secret, std::string_view label, Bytes context,
                  MutableBytes out);

// Returns the secret of the next key phase (RFC 9001 §6.1, RFC 9369 §3.3.2).
TrafficSecret next_generation(const TrafficSecret& secret);

// Returns the first secret of one path in KeyMode::kPerPath: HKDF-Expand-Label(secret, "sheaf
// path", path id in 4 bytes, Hash.length), the same in all versions of QUIC
// (docs/internals/keys.md).
TrafficSecret path_secret(const TrafficSecret& secret, PathId path);

}  // namespace sheaf::quic
