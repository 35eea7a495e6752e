#include "fec/rows.h"

#include "fec/field.h"
#include "util/splitmix.h"

namespace sheaf::quic::fec {

void write_coefficients(std::uint64_t first, RowIndex row, std::span<std::uint8_t> coefficients) {
  if (row < k_cauchy_rows) {
    for (std::size_t i = 0; i < coefficients.size(); ++i) {
      coefficients[i] = inverse(static_cast<std::uint8_t>((k_cauchy_rows + row) ^ i));
    }
    return;
  }
  std::uint64_t state = (first << 16) + row;
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    if (i % 8 == 0) word = next_splitmix(state);
    coefficients[i] = static_cast<std::uint8_t>(word >> (8 * (i % 8)));
  }
}

}  // namespace sheaf::quic::fec
