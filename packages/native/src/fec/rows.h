#pragma once

#include <cstdint>
#include <span>

namespace sheaf::quic::fec {

using RowIndex = std::uint16_t;

// Rows below this one are Cauchy rows.
inline constexpr RowIndex k_cauchy_rows = 128;

// Writes the coefficients of a row, one for each packet of a set in the order of their numbers, at
// most 128. `first` is the first number of the set.
//
// Row j < 128 has 1 / ((128 + j) xor i) for packet i. Any r of these rows recover any r packets of
// the set (RFC 6865 names such matrices; every square part of a Cauchy matrix is invertible).
//
// From row 128 on, coefficients are numbers of splitmix64, whose state begins with
// first · 2^16 + j modulo 2^64. Each step gives eight coefficients, the lowest byte first. r rows
// of which one is such a row recover r packets except with a probability of about 1/255; each row
// more than needed divides it by 256.
void write_coefficients(std::uint64_t first, RowIndex row, std::span<std::uint8_t> coefficients);

}  // namespace sheaf::quic::fec
