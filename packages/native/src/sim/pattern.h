#pragma once

#include <cstdint>

#include "util/bytes.h"

namespace sheaf::quic {

// Bytes of simulated applications, which tell their position, so that a piece at a wrong offset is
// noticed

// Returns some of the bytes from `offset` on, at most `most`. They outlive every connection.
Bytes pattern_from(std::uint64_t offset, std::uint64_t most);
bool matches_pattern(Bytes bytes, std::uint64_t offset);

}  // namespace sheaf::quic
