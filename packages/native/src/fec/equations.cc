#include "fec/equations.h"

#include <algorithm>
#include <bit>

#include "fec/symbol.h"

namespace sheaf::quic::fec {

Equations::Equations(const Kernel& kernel, std::size_t max_payload)
    : kernel_(&kernel), max_payload_(std::min(max_payload, k_max_payload)) {
  pivot_of_.fill(k_none);
}

std::size_t Equations::symbol_capacity() const { return k_symbol_head + max_payload_; }

std::size_t Equations::size() const { return static_cast<std::size_t>(std::popcount(used_)); }

std::optional<Equations::Column> Equations::column_of(std::uint64_t number) const {
  for (std::size_t i = 0; i < k_max_unknown; ++i) {
    if (columns_[i] && numbers_[i] == number) return static_cast<Column>(i);
  }
  return std::nullopt;
}

bool Equations::is_pivot(std::uint64_t number) const {
  const auto column = column_of(number);
  return column && pivot_of_[*column] != k_none;
}

bool Equations::open(Bytes bytes, std::uint64_t repair) {
  assert(bytes.size() <= symbol_capacity());
  // A slot is not used again while an equation is a sum with its repair.
  std::uint64_t taken = used_;
  for (std::uint64_t left = used_; left != 0; left &= left - 1) {
    taken |= equations_[std::countr_zero(left)].repairs;
  }
  if (taken == ~std::uint64_t{0}) return false;
  if (!equations_) {
    equations_ = std::make_unique<Equation[]>(k_max_equations);
    symbols_ = std::make_unique<std::uint8_t[]>((k_max_equations + 1) * symbol_capacity());
  }
  opened_ = static_cast<Slot>(std::countr_one(taken));
  Equation& equation = equations_[opened_];
  equation = {.coefficients = {},
              .repairs = std::uint64_t{1} << opened_,
              .size = bytes.size(),
              .unknown = 0,
              .pivot = 0,
              .polled = false};
  std::uint8_t* end = std::ranges::copy(bytes, symbol(opened_)).out;
  std::fill(end, symbol(opened_) + symbol_capacity(), std::uint8_t{0});
  repair_numbers_[opened_] = repair;
  return true;
}

void Equations::subtract(std::uint8_t coefficient, Bytes payload) {
  std::uint8_t* destination = symbol(opened_);
  add_symbol(*kernel_, &destination, &coefficient, 1, payload);
}

bool Equations::name(std::uint64_t number, std::uint8_t coefficient) {
  if (coefficient == 0) return true;
  auto column = column_of(number);
  if (!column) {
    std::size_t free = 0;
    while (free < k_max_unknown && columns_[free]) ++free;
    if (free == k_max_unknown) {
      opened_ = k_none;
      release_columns();
      return false;
    }
    column = static_cast<Column>(free);
    columns_[free] = true;
    numbers_[free] = number;
  }
  equations_[opened_].coefficients[*column] = coefficient;
  return true;
}

Equations::Inserted Equations::insert() {
  const Slot slot = opened_;
  opened_ = k_none;
  Equation& equation = equations_[slot];
  for (std::size_t i = 0; i < k_max_unknown; ++i) {
    if (equation.coefficients[i] == 0 || pivot_of_[i] == k_none) continue;
    const std::uint8_t pivot = equations_[pivot_of_[i]].coefficients[i];
    add(slot, pivot_of_[i], multiply(equation.coefficients[i], inverse(pivot)));
  }
  used_ |= std::uint64_t{1} << slot;
  count_unknown(slot);
  const bool kept = take_pivot(slot);
  const bool agrees = kept || is_zero(slot);
  if (!kept) release(slot);
  release_columns();
  return kept ? Inserted::kKept : agrees ? Inserted::kRedundant : Inserted::kContradiction;
}

RepairNumbers Equations::provide(std::uint64_t number, Bytes payload) {
  if (used_ == 0 || payload.size() > max_payload_) return {};
  const auto column = column_of(number);
  if (!column) return {};
  std::uint64_t wrong = 0;
  for (std::uint64_t left = used_; left != 0; left &= left - 1) {
    const auto slot = static_cast<Slot>(std::countr_zero(left));
    Equation& equation = equations_[slot];
    const std::uint8_t coefficient = equation.coefficients[*column];
    if (coefficient == 0) continue;
    std::uint8_t* destination = symbol(slot);
    add_symbol(*kernel_, &destination, &coefficient, 1, payload);
    equation.coefficients[*column] = 0;
    equation.size = std::max(equation.size, k_symbol_head + payload.size());
    count_unknown(slot);
    if (equation.unknown == 0 && !is_zero(slot)) wrong |= equation.repairs;
  }
  const Slot slot = pivot_of_[*column];
  pivot_of_[*column] = k_none;
  if (slot != k_none && !take_pivot(slot)) release(slot);
  release_dependent(wrong);
  release_columns();
  return numbers_of(wrong);
}

void Equations::erase(std::uint64_t number) {
  const auto column = column_of(number);
  if (!column) return;
  Slot with = pivot_of_[*column];
  if (with == k_none) {
    for (std::uint64_t left = used_; left != 0 && with == k_none; left &= left - 1) {
      const auto slot = static_cast<Slot>(std::countr_zero(left));
      if (equations_[slot].coefficients[*column] != 0) with = slot;
    }
    eliminate(*column, with);
  }
  release(with);
  release_columns();
}

std::optional<std::uint64_t> Equations::first_unknown_below(std::uint64_t floor) const {
  if (used_ == 0) return std::nullopt;
  for (std::size_t i = 0; i < k_max_unknown; ++i) {
    if (columns_[i] && numbers_[i] < floor) return numbers_[i];
  }
  return std::nullopt;
}

std::optional<Equations::Solution> Equations::poll_solution() {
  for (std::uint64_t left = used_; left != 0; left &= left - 1) {
    const auto slot = static_cast<Slot>(std::countr_zero(left));
    Equation& equation = equations_[slot];
    if (equation.unknown != 1 || equation.polled) continue;
    equation.polled = true;
    return Solution{.number = numbers_[equation.pivot], .payload = payload_of(slot)};
  }
  return std::nullopt;
}

std::size_t Equations::confirm(std::uint64_t number) {
  const auto slot = solved_slot(number);
  if (!slot) return 0;
  const int repairs = std::popcount(equations_[*slot].repairs);
  release(*slot);
  release_columns();
  return static_cast<std::size_t>(repairs);
}

RepairNumbers Equations::refuse(std::uint64_t number) {
  const auto slot = solved_slot(number);
  if (!slot) return {};
  const std::uint64_t repairs = equations_[*slot].repairs;
  release_dependent(repairs);
  release_columns();
  return numbers_of(repairs);
}

std::optional<Equations::Slot> Equations::solved_slot(std::uint64_t number) const {
  const auto column = column_of(number);
  if (!column || pivot_of_[*column] == k_none) return std::nullopt;
  const Slot slot = pivot_of_[*column];
  if (equations_[slot].unknown != 1) return std::nullopt;
  return slot;
}

void Equations::add(Slot to, Slot from, std::uint8_t factor) {
  Equation& sum = equations_[to];
  const Equation& added = equations_[from];
  kernel_->multiply_add(sum.coefficients.data(), added.coefficients.data(), factor,
                        sum.coefficients.size());
  kernel_->multiply_add(symbol(to), symbol(from), factor, added.size);
  sum.size = std::max(sum.size, added.size);
  sum.repairs |= added.repairs;
}

void Equations::count_unknown(Slot slot) {
  Equation& equation = equations_[slot];
  const auto zeros = std::ranges::count(equation.coefficients, 0);
  equation.unknown = static_cast<std::uint8_t>(k_max_unknown - static_cast<std::size_t>(zeros));
}

// Returns false when the equation contains no unknown.
bool Equations::take_pivot(Slot slot) {
  Equation& equation = equations_[slot];
  const auto found =
      std::ranges::find_if(equation.coefficients, [](auto each) { return each != 0; });
  if (found == equation.coefficients.end()) return false;
  equation.pivot = static_cast<Column>(found - equation.coefficients.begin());
  eliminate(equation.pivot, slot);
  pivot_of_[equation.pivot] = slot;
  return true;
}

// Removes an unknown from all equations but one, which contains it.
void Equations::eliminate(Column column, Slot with) {
  const std::uint8_t inverted = inverse(equations_[with].coefficients[column]);
  for (std::uint64_t left = used_; left != 0; left &= left - 1) {
    const auto slot = static_cast<Slot>(std::countr_zero(left));
    const std::uint8_t coefficient = equations_[slot].coefficients[column];
    if (slot == with || coefficient == 0) continue;
    add(slot, with, multiply(coefficient, inverted));
    count_unknown(slot);
  }
}

bool Equations::is_zero(Slot slot) {
  const Bytes bytes(symbol(slot), equations_[slot].size);
  return std::ranges::all_of(bytes, [](std::uint8_t each) { return each == 0; });
}

void Equations::release(Slot slot) {
  used_ &= ~(std::uint64_t{1} << slot);
  const Column pivot = equations_[slot].pivot;
  if (pivot_of_[pivot] == slot) pivot_of_[pivot] = k_none;
}

void Equations::release_dependent(std::uint64_t repairs) {
  for (std::uint64_t left = used_; left != 0; left &= left - 1) {
    const auto slot = static_cast<Slot>(std::countr_zero(left));
    if ((equations_[slot].repairs & repairs) != 0) release(slot);
  }
}

// Unknown packets that no equation contains are forgotten.
void Equations::release_columns() {
  std::array<std::uint8_t, k_max_unknown> contained{};
  for (std::uint64_t left = used_; left != 0; left &= left - 1) {
    const Equation& equation = equations_[std::countr_zero(left)];
    for (std::size_t i = 0; i < k_max_unknown; ++i) contained[i] |= equation.coefficients[i];
  }
  for (std::size_t i = 0; i < k_max_unknown; ++i) columns_[i] = contained[i] != 0;
}

RepairNumbers Equations::numbers_of(std::uint64_t repairs) const {
  RepairNumbers numbers;
  for (; repairs != 0; repairs &= repairs - 1) {
    numbers.push_back(repair_numbers_[static_cast<std::size_t>(std::countr_zero(repairs))]);
  }
  return numbers;
}

Bytes Equations::payload_of(Slot slot) {
  const Equation& equation = equations_[slot];
  std::uint8_t* solution = symbol(k_max_equations);
  std::fill(solution, solution + equation.size, std::uint8_t{0});
  kernel_->multiply_add(solution, symbol(slot), inverse(equation.coefficients[equation.pivot]),
                        equation.size);
  const std::size_t length = load<std::uint16_t>(solution);
  if (length > equation.size - k_symbol_head) return {};
  const Bytes padding(solution + k_symbol_head + length, equation.size - k_symbol_head - length);
  if (std::ranges::any_of(padding, [](std::uint8_t each) { return each != 0; })) return {};
  return {solution + k_symbol_head, length};
}

}  // namespace sheaf::quic::fec
