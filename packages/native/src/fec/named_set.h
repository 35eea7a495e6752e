#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "util/bytes.h"
#include "util/inplace_vector.h"

namespace sheaf::quic::fec {

// Packets of a set at most: as many as Cauchy rows have coefficients for (rows.h)
inline constexpr std::size_t k_max_set_size = 128;
// Bytes of an encoded set behind its first number and its form
inline constexpr std::size_t k_max_set_body = 16;
inline constexpr std::size_t k_max_set_bytes = 8 + 1 + k_max_set_body;

// The packets that a repair is made of, by their numbers, in ascending order. On the wire:
//
//   first number  variable-length integer
//   form          1 byte: bit 7 is 0 for a bitmap and 1 for gaps, bits 6 and 5 are 0, and bits 4 to
//                 0 are the length of the body, 0 to 16
//   body          a bitmap: bit i of byte j (bit 0 is the lowest) stands for first + 1 + 8j + i,
//                 without zero bytes at its end and below first + 128;
//                 or gaps: for each further number its distance from the one before, less 1, as a
//                 variable-length integer
//
// The shorter body is the only valid one, and the bitmap when both are equally long. So a set of
// 128 packets fits when they are close together, and a few packets fit whatever lies between them.
class NamedSet {
 public:
  // Adds a number. Refuses one that is not above all others, is no packet number, or makes the set
  // too large for the wire.
  bool add(std::uint64_t number);

  bool empty() const { return numbers_.empty(); }
  std::size_t size() const { return numbers_.size(); }
  std::span<const std::uint64_t> numbers() const { return numbers_.view(); }
  std::uint64_t first() const { return numbers().front(); }
  std::uint64_t last() const { return numbers().back(); }
  bool operator==(const NamedSet& other) const;

  // The set must not be empty. The writer has room for k_max_set_bytes.
  void write(Writer& writer) const;
  // Returns nothing, and fails the reader or not, when the bytes are no set.
  static std::optional<NamedSet> read(Reader& reader);

 private:
  bool prefers_gaps() const;
  std::size_t bitmap_bytes() const { return static_cast<std::size_t>(last() - first() + 7) / 8; }
  std::size_t body_bytes() const { return prefers_gaps() ? gap_bytes_ : bitmap_bytes(); }
  bool read_bitmap(Bytes body);
  bool read_gaps(Bytes body);

  InplaceVector<std::uint64_t, k_max_set_size> numbers_;
  std::size_t gap_bytes_ = 0;
};

}  // namespace sheaf::quic::fec
