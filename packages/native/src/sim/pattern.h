#pragma once

#include <cstdint>

#include "util/bytes.h"

namespace sheaf::quic {

// Simulated applications send bytes that tell their place, so that a piece at a wrong offset is
// noticed.

// Some of the bytes from `offset` on, at most so many; they outlive every connection.
Bytes pattern_from(std::uint64_t offset, std::uint64_t most);
bool matches_pattern(Bytes bytes, std::uint64_t offset);

}  // namespace sheaf::quic
