#pragma once

#include <cstddef>

namespace sheaf::quic {

// Counts calls of operator new in this test program.
std::size_t allocation_count();
// The bytes that they asked for, all together
std::size_t allocated_bytes();
// The bytes that are in use now, with what the allocator adds to each
std::size_t live_bytes();

}  // namespace sheaf::quic
