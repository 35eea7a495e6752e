#include "fec/kernel.h"

#include "fec/field.h"
#include "fec/gfni_kernels.h"
#include "fec/isal_kernel.h"

namespace sheaf::quic::fec {
namespace {

// A product is the sum of those of both halves of the byte.
void add_row_portably(std::uint8_t* destination, std::uint8_t coefficient,
                      const std::uint8_t* source, std::size_t length) {
  std::uint8_t low[16];
  std::uint8_t high[16];
  for (unsigned i = 0; i < 16; ++i) {
    low[i] = multiply(coefficient, static_cast<std::uint8_t>(i));
    high[i] = multiply(coefficient, static_cast<std::uint8_t>(i << 4));
  }
  for (std::size_t i = 0; i < length; ++i) {
    destination[i] ^= static_cast<std::uint8_t>(low[source[i] & 15] ^ high[source[i] >> 4]);
  }
}

void add_rows_portably(std::uint8_t* const* destinations, const std::uint8_t* coefficients,
                       std::size_t rows, const std::uint8_t* source, std::size_t length) {
  for (std::size_t i = 0; i < rows; ++i) {
    add_row_portably(destinations[i], coefficients[i], source, length);
  }
}

constexpr Kernel k_portable = {.name = "portable", .multiply_add_rows = add_rows_portably};

const Kernel& choose_kernel() {
  for (const KernelKind kind : k_kernels_by_preference) {
    if (const Kernel* kernel = find_kernel(kind)) return *kernel;
  }
  return k_portable;
}

}  // namespace

const Kernel* find_kernel(KernelKind kind) {
  switch (kind) {
    case KernelKind::kGfni128:
      return gfni_kernel_128();
    case KernelKind::kGfni256:
      return gfni_kernel_256();
    case KernelKind::kGfni512:
      return gfni_kernel_512();
    case KernelKind::kIsal:
      return isal_kernel();
    case KernelKind::kPortable:
      break;
  }
  return &k_portable;
}

const Kernel& best_kernel() {
  static const Kernel& chosen = choose_kernel();
  return chosen;
}

}  // namespace sheaf::quic::fec
