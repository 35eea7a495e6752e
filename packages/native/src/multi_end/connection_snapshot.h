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

// A hand-over as bytes (docs/internals/multi-end.md has the layout). They hold keys: whoever
// carries them seals them to the backend and wipes them.
std::vector<std::uint8_t> encode_snapshot(const BackendSeed& seed);
// What it gives fits `Connection::establish_backend`, which still judges keys and connection ids.
Result<BackendSeed, SnapshotFault> decode_snapshot(Bytes bytes);

}  // namespace sheaf::quic
