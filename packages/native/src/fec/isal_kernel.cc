#include "fec/isal_kernel.h"

#if SHEAF_HAVE_ISA_L

#include <isa-l/erasure_code.h>

namespace sheaf::quic::fec {
namespace {

void add_rows_by_isal(std::uint8_t* const* destinations, const std::uint8_t* coefficients,
                      std::size_t rows, const std::uint8_t* source, std::size_t length) {
  constexpr std::size_t k_table_bytes = 32;  // of a coefficient
  std::uint8_t factors[k_max_rows_together];
  std::uint8_t* targets[k_max_rows_together];
  std::uint8_t tables[k_max_rows_together * k_table_bytes];
  for (std::size_t i = 0; i < rows; ++i) {
    factors[i] = coefficients[i];
    targets[i] = destinations[i];
  }
  ec_init_tables(1, static_cast<int>(rows), factors, tables);
  // The library only reads the source, although its parameter does not say so.
  ec_encode_data_update(static_cast<int>(length), 1, static_cast<int>(rows), 0, tables,
                        const_cast<std::uint8_t*>(source), targets);
}

constexpr Kernel k_isal = {.name = "isal", .multiply_add_rows = add_rows_by_isal};

}  // namespace

const Kernel* isal_kernel() { return &k_isal; }

}  // namespace sheaf::quic::fec

#else

namespace sheaf::quic::fec {

const Kernel* isal_kernel() { return nullptr; }

}  // namespace sheaf::quic::fec

#endif
