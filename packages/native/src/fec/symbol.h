#pragma once

#include <cassert>

#include "fec/field.h"
#include "fec/kernel.h"
#include "util/bytes.h"

namespace sheaf::quic::fec {

// What is coded of a packet: the length of its payload (2 bytes), then its payload, which is
// everything behind the packet number as it is on the wire, then zeros up to the longest symbol of
// the set. First byte, connection id and number are not coded, as the receiver knows them.
inline constexpr std::size_t k_symbol_head = 2;
inline constexpr std::size_t k_max_payload = 65535;

// Adds `coefficients[i]` times the symbol of a packet to `destinations[i]`, 1 to 4 of them.
inline void add_symbol(const Kernel& kernel, std::uint8_t* const* destinations,
                       const std::uint8_t* coefficients, std::size_t rows, Bytes payload) {
  assert(payload.size() <= k_max_payload);
  const auto high = static_cast<std::uint8_t>(payload.size() >> 8);
  const auto low = static_cast<std::uint8_t>(payload.size());
  std::uint8_t* payloads[k_max_rows_together];
  for (std::size_t i = 0; i < rows; ++i) {
    destinations[i][0] ^= multiply(coefficients[i], high);
    destinations[i][1] ^= multiply(coefficients[i], low);
    payloads[i] = destinations[i] + k_symbol_head;
  }
  kernel.multiply_add_rows(payloads, coefficients, rows, payload.data(), payload.size());
}

}  // namespace sheaf::quic::fec
