#include "fec/encoder.h"

#include <algorithm>

#include "fec/symbol.h"

namespace sheaf::quic::fec {
namespace {

void encode_together(const Kernel& kernel, const NamedSet& set, std::span<const Bytes> payloads,
                     RowIndex first_row, std::span<const MutableBytes> repairs) {
  std::uint8_t coefficients[k_max_rows_together][k_max_set_size];
  std::uint8_t* destinations[k_max_rows_together];
  for (std::size_t row = 0; row < repairs.size(); ++row) {
    write_coefficients(set.first(), static_cast<RowIndex>(first_row + row),
                       std::span(coefficients[row]).first(set.size()));
    std::ranges::fill(repairs[row], std::uint8_t{0});
    destinations[row] = repairs[row].data();
  }
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    std::uint8_t column[k_max_rows_together];
    for (std::size_t row = 0; row < repairs.size(); ++row) column[row] = coefficients[row][i];
    add_symbol(kernel, destinations, column, repairs.size(), payloads[i]);
  }
}

}  // namespace

std::size_t repair_size(std::span<const Bytes> payloads) {
  std::size_t longest = 0;
  for (const Bytes payload : payloads) longest = std::max(longest, payload.size());
  return k_symbol_head + longest;
}

bool encode_repairs(const Kernel& kernel, const NamedSet& set, std::span<const Bytes> payloads,
                    RowIndex first_row, std::span<const MutableBytes> repairs) {
  const std::size_t size = repair_size(payloads);
  const auto fits = [size](MutableBytes repair) { return repair.size() == size; };
  if (payloads.size() != set.size() || !std::ranges::all_of(repairs, fits)) return false;
  for (std::size_t at = 0; at < repairs.size(); at += k_max_rows_together) {
    const std::size_t rows = std::min(k_max_rows_together, repairs.size() - at);
    encode_together(kernel, set, payloads, static_cast<RowIndex>(first_row + at),
                    repairs.subspan(at, rows));
  }
  return true;
}

}  // namespace sheaf::quic::fec
