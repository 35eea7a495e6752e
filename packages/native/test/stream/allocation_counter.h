#pragma once

#include <cstddef>

namespace sheaf::quic {

// Counts calls of operator new in this test program.
std::size_t allocation_count();

}  // namespace sheaf::quic
