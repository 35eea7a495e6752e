#include "fec/solver.h"

#include "fec/symbol.h"

namespace sheaf::quic::fec {

Solver::Solver(const Kernel& kernel, std::size_t max_payload, std::uint64_t reach)
    : equations_(kernel, max_payload), reach_(reach) {}

// Returns why a repair brings nothing, if so, without looking at its bytes.
std::optional<RepairOutcome> Solver::judge(const Repair& repair, const KnownPackets& known) const {
  if (repair.set.empty() || repair.bytes.size() < k_symbol_head ||
      repair.bytes.size() > k_symbol_head + equations_.max_payload()) {
    return RepairOutcome::kMalformed;
  }
  if (repair.set.last() >= floor_ && repair.set.last() - floor_ >= reach_) {
    return RepairOutcome::kOutOfReach;
  }
  std::size_t missing = 0;
  bool expired = false;
  for (const std::uint64_t number : repair.set.numbers()) {
    const auto payload = known.find(number);
    if (payload && payload->size() > repair.bytes.size() - k_symbol_head) {
      return RepairOutcome::kMalformed;
    }
    if (payload) continue;
    ++missing;
    if (number < floor_) expired = true;
  }
  if (missing == 0) return RepairOutcome::kNothingMissing;
  if (expired) return RepairOutcome::kExpired;
  if (missing > k_max_unknown_in_set) return RepairOutcome::kTooManyMissing;
  return std::nullopt;
}

RepairOutcome Solver::add(const Repair& repair, const KnownPackets& known) {
  if (const auto useless = judge(repair, known)) return *useless;
  if (!equations_.open(repair.bytes, repair.number)) return RepairOutcome::kNoRoom;
  std::array<std::uint8_t, k_max_set_size> coefficients;
  write_coefficients(repair.set.first(), repair.row,
                     std::span(coefficients).first(repair.set.size()));
  for (std::size_t i = 0; i < repair.set.size(); ++i) {
    const std::uint64_t number = repair.set.numbers()[i];
    if (const auto payload = known.find(number)) {
      equations_.subtract(coefficients[i], *payload);
    } else if (!equations_.name(number, coefficients[i])) {
      return RepairOutcome::kNoRoom;
    }
  }
  switch (equations_.insert()) {
    case Equations::Inserted::kRedundant:
      return RepairOutcome::kRedundant;
    case Equations::Inserted::kContradiction:
      ++counts_.contradictions;
      return RepairOutcome::kContradiction;
    case Equations::Inserted::kKept:
      break;
  }
  return RepairOutcome::kKept;
}

RepairNumbers Solver::provide(std::uint64_t number, Bytes payload) {
  const RepairNumbers wrong = equations_.provide(number, payload);
  if (!wrong.empty()) ++counts_.contradictions;
  return wrong;
}

void Solver::forget_below(std::uint64_t floor) {
  if (floor <= floor_) return;
  floor_ = floor;
  while (const auto number = equations_.first_unknown_below(floor_)) equations_.erase(*number);
}

void Solver::confirm(std::uint64_t number) {
  const std::size_t repairs = equations_.confirm(number);
  if (repairs == 0) return;
  ++counts_.recovered;
  counts_.repairs_used += repairs;
}

RepairNumbers Solver::refuse(std::uint64_t number) {
  const RepairNumbers suspects = equations_.refuse(number);
  if (!suspects.empty()) ++counts_.refused;
  return suspects;
}

}  // namespace sheaf::quic::fec
