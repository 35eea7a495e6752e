#pragma once

#include <array>
#include <cstdint>

namespace sheaf::quic::fec {

// GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1, that of RFC 8681 and of ISA-L. 2 generates
// all elements but 0.
inline constexpr unsigned k_field_polynomial = 0x11d;

struct FieldTables {
  std::array<std::uint8_t, 510>
      powers;  // of 2, two rounds, so that sums of logarithms need no modulo
  std::array<std::uint8_t, 256> logarithms;
};

constexpr FieldTables make_field_tables() {
  FieldTables tables{};
  unsigned power = 1;
  for (unsigned exponent = 0; exponent < 255; ++exponent) {
    tables.powers[exponent] = static_cast<std::uint8_t>(power);
    tables.powers[exponent + 255] = static_cast<std::uint8_t>(power);
    tables.logarithms[power] = static_cast<std::uint8_t>(exponent);
    power <<= 1;
    if (power > 255) power ^= k_field_polynomial;
  }
  return tables;
}

inline constexpr FieldTables k_field_tables = make_field_tables();

constexpr std::uint8_t multiply(std::uint8_t left, std::uint8_t right) {
  if (left == 0 || right == 0) return 0;
  return k_field_tables.powers[k_field_tables.logarithms[left] + k_field_tables.logarithms[right]];
}

// The value must not be 0.
constexpr std::uint8_t inverse(std::uint8_t value) {
  return k_field_tables.powers[255 - k_field_tables.logarithms[value]];
}

}  // namespace sheaf::quic::fec
