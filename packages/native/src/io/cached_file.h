#pragma once

#include <cstddef>
#include <cstdint>

#include "util/bytes.h"

namespace sheaf::io {

// Reads bytes of a file that the kernel has in memory, without waiting for a disk, and returns
// their number. 0 means that none are cached, that the file ends, or that its file system cannot
// tell; an ordinary read finds out which.
std::size_t read_cached(int descriptor, quic::MutableBytes into, std::uint64_t position);

}  // namespace sheaf::io
