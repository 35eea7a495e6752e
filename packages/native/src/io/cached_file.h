#pragma once

#include <cstddef>
#include <cstdint>

#include "util/bytes.h"

namespace sheaf::io {

// Reads bytes of a file that are in the system's memory, without a wait for a disk; returns how
// many. 0: there are none, the file ends, or its file system cannot say; whatever is the matter,
// the ordinary way to read finds it out.
std::size_t read_cached(int descriptor, quic::MutableBytes into, std::uint64_t position);

}  // namespace sheaf::io
