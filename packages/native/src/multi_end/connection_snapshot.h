#pragma once

#include <vector>

#include "multi_end/backend_seed.h"
#include "util/result.h"

namespace sheaf::quic {

enum class SnapshotFault : std::uint8_t {
  kUnknownVersion,
  kMalformed,   // truncated, or with bytes left over
  kOutOfRange,  // a value that no primary of this version writes
};

// Encodes a hand-over (docs/internals/multi-end.md shows the layout). The bytes contain keys, so
// their carrier seals them for the backend and wipes them.
std::vector<std::uint8_t> encode_snapshot(const BackendSeed& seed);
// Decodes a hand-over for `establish_backend`, which still checks keys and connection ids.
Result<BackendSeed, SnapshotFault> decode_snapshot(Bytes bytes);

}  // namespace sheaf::quic
