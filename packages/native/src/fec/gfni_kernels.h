#pragma once

#include "fec/kernel.h"

namespace sheaf::quic::fec {

// Kernels on the instruction GF2P8AFFINEQB, by the width of vectors in bits. Return null when the
// processor lacks it.
const Kernel* gfni_kernel_128();
const Kernel* gfni_kernel_256();
const Kernel* gfni_kernel_512();

}  // namespace sheaf::quic::fec
