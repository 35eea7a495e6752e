#pragma once

#include "fec/kernel.h"

namespace sheaf::quic::fec {

// The kernel on Intel's ISA-L, which chooses among SSE, AVX2 and AVX-512 itself. Returns null where
// the library is not built in.
const Kernel* isal_kernel();

}  // namespace sheaf::quic::fec
