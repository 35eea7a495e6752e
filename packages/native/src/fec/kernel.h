#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sheaf::quic::fec {

// Rows that one pass over a source serves at most
inline constexpr std::size_t k_max_rows_together = 4;

// The loop that everything here spends its time in. It belongs to a set of instructions; all
// kernels compute the same.
struct Kernel {
  const char* name;
  // Adds `coefficients[i]` times the source to `destinations[i]`, for 1 to 4 rows. Nothing
  // overlaps; no alignment is needed. Writes nothing behind `length`.
  void (*multiply_add_rows)(std::uint8_t* const* destinations, const std::uint8_t* coefficients,
                            std::size_t rows, const std::uint8_t* source, std::size_t length);

  void multiply_add(std::uint8_t* destination, const std::uint8_t* source, std::uint8_t coefficient,
                    std::size_t length) const {
    multiply_add_rows(&destination, &coefficient, 1, source, length);
  }
};

enum class KernelKind {
  kPortable,
  kIsal,
  kGfni128,
  kGfni256,
  kGfni512,
};
inline constexpr std::array k_kernels_by_preference = {
    KernelKind::kGfni512, KernelKind::kGfni256,  KernelKind::kGfni128,
    KernelKind::kIsal,    KernelKind::kPortable,
};

// Returns null when this processor or this build does not have it.
const Kernel* find_kernel(KernelKind kind);

// Returns the fastest kernel that this processor has.
const Kernel& best_kernel();

}  // namespace sheaf::quic::fec
