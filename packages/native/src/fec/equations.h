#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>

#include "fec/kernel.h"
#include "util/bytes.h"
#include "util/inplace_vector.h"

namespace sheaf::quic::fec {

// Equations that wait at most, and packets that they name together at most
inline constexpr std::size_t k_max_equations = 64;
inline constexpr std::size_t k_max_unknown = 128;

// Numbers of the repairs that took part in something
using RepairNumbers = InplaceVector<std::uint64_t, k_max_equations>;

// Linear equations over the symbols of unknown packets (symbol.h), in reduced form: each has a
// pivot, an unknown that no other equation contains. An equation that contains nothing but its
// pivot is solved. Every equation knows of which repairs it is a sum.
//
// The first equation allocates all memory: 65 symbols of the longest payload and 10 KiB. An
// operation adds at most 128 symbols to others, except for `erase` of an unknown, which adds at
// most 64 for each equation that it costs.
class Equations {
 public:
  Equations(const Kernel& kernel, std::size_t max_payload);

  bool empty() const { return used_ == 0; }
  std::size_t size() const;
  std::size_t max_payload() const { return max_payload_; }
  bool contains(std::uint64_t number) const { return column_of(number).has_value(); }
  bool is_pivot(std::uint64_t number) const;

  // A new equation while it is put together: `open`, then `subtract` and `name`, then `insert`.
  // `repair` is the number of the packet that brought it. Returns false when there is no room.
  bool open(Bytes symbol, std::uint64_t repair);
  void subtract(std::uint8_t coefficient, Bytes payload);
  // Returns false when there is no room for another unknown; the equation is then gone.
  bool name(std::uint64_t number, std::uint8_t coefficient);
  enum class Inserted {
    kKept,
    kRedundant,      // follows from the others
    kContradiction,  // with the others
  };
  Inserted insert();

  // Puts a packet that has become known into all equations. Returns the repairs of one that this
  // proves wrong; these and all that depend on them are gone.
  RepairNumbers provide(std::uint64_t number, Bytes payload);
  // Forgets an unknown, at the price of one equation.
  void erase(std::uint64_t number);
  std::optional<std::uint64_t> first_unknown_below(std::uint64_t floor) const;

  struct Solution {
    std::uint64_t number;
    Bytes payload;  // valid until the next call; empty when the symbol cannot be one
  };
  // Returns each solution once. It stays until one of the following calls.
  std::optional<Solution> poll_solution();
  // Removes a solution that is right. Returns how many repairs it was made of.
  std::size_t confirm(std::uint64_t number);
  // Removes a solution that is wrong, and all equations with a repair that it was made of. Returns
  // these repairs.
  RepairNumbers refuse(std::uint64_t number);

 private:
  using Column = std::uint8_t;
  using Slot = std::uint8_t;
  static constexpr Slot k_none = 0xff;
  struct Equation {
    std::array<std::uint8_t, k_max_unknown> coefficients;
    std::uint64_t repairs;  // slots of the repairs that it is a sum of
    std::size_t size;       // of the symbol; all bytes behind it are zero
    std::uint8_t unknown;   // coefficients that are not zero
    Column pivot;
    bool polled;
  };

  std::uint8_t* symbol(Slot slot) { return symbols_.get() + slot * symbol_capacity(); }
  std::size_t symbol_capacity() const;
  std::optional<Column> column_of(std::uint64_t number) const;
  std::optional<Slot> solved_slot(std::uint64_t number) const;

  void add(Slot to, Slot from, std::uint8_t factor);
  void count_unknown(Slot slot);
  bool take_pivot(Slot slot);
  void eliminate(Column column, Slot with);
  bool is_zero(Slot slot);
  void release(Slot slot);
  void release_dependent(std::uint64_t repairs);
  void release_columns();
  RepairNumbers numbers_of(std::uint64_t repairs) const;
  Bytes payload_of(Slot slot);

  const Kernel* kernel_;
  std::size_t max_payload_;
  std::unique_ptr<Equation[]> equations_;
  std::unique_ptr<std::uint8_t[]> symbols_;  // one more than equations: the last solution
  std::uint64_t used_ = 0;                   // slots of equations
  Slot opened_ = k_none;
  std::array<std::uint64_t, k_max_equations> repair_numbers_;
  std::array<std::uint64_t, k_max_unknown> numbers_;  // of the columns in use
  std::bitset<k_max_unknown> columns_;
  std::array<Slot, k_max_unknown> pivot_of_;
};

}  // namespace sheaf::quic::fec
