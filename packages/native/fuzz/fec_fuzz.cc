#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "fec/solver.h"

namespace {

using namespace sheaf::quic;
using namespace sheaf::quic::fec;

constexpr std::size_t k_payload = 24;

void check(bool holds) {
  if (!holds) std::abort();
}

// A receiver has each packet whose number the byte pattern names; its bytes repeat the number.
class Known final : public KnownPackets {
 public:
  explicit Known(std::uint8_t pattern) : pattern_(pattern) { bytes_.fill(pattern); }
  std::optional<Bytes> find(std::uint64_t number) const override {
    if ((pattern_ >> (number % 8) & 1) == 0) return std::nullopt;
    return Bytes(bytes_).first(number % k_payload);
  }

 private:
  std::uint8_t pattern_;
  std::array<std::uint8_t, k_payload> bytes_;
};

// A set that decodes is encoded again, and decodes to the same.
void check_round_trip(const NamedSet& set) {
  check(!set.empty() && set.size() <= k_max_set_size && std::ranges::is_sorted(set.numbers()));
  std::array<std::uint8_t, k_max_set_bytes> bytes;
  Writer writer(bytes);
  set.write(writer);
  Reader reader(writer.written());
  const auto again = NamedSet::read(reader);
  check(again && reader.empty() && *again == set);
}

void add_repair(Solver& solver, const Known& known, Reader& reader) {
  const auto set = NamedSet::read(reader);
  const auto row = static_cast<RowIndex>(reader.read_u16());
  const Bytes bytes = reader.read_bytes(reader.read_u8() % (k_payload + 4));
  if (!set || !reader.ok()) return;
  check_round_trip(*set);
  solver.add({.number = set->last(), .set = *set, .row = row, .bytes = bytes}, known);
}

// Confirms some of what was recovered, and refuses some.
void settle(Solver& solver, std::uint8_t verdicts) {
  for (std::size_t i = 0; const auto recovered = solver.poll_recovered(); ++i) {
    check(recovered->payload.size() <= k_payload);
    const std::size_t waiting = solver.waiting();
    if ((verdicts >> (i % 8) & 1) != 0) {
      solver.confirm(recovered->number);
      check(solver.waiting() + 1 == waiting);
    } else {
      check(!solver.refuse(recovered->number).empty() && solver.waiting() < waiting);
    }
  }
}

}  // namespace

// Gives a solver hostile repairs, between packets that come otherwise, verdicts and floors that
// rise. Checks its bounds.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Reader reader({data, size});
  const Known known(reader.read_u8());
  Solver solver(*find_kernel(KernelKind::kPortable), k_payload, 4096);
  std::uint64_t floor = 0;
  while (reader.ok() && !reader.empty()) {
    switch (reader.read_u8() % 4) {
      case 0:
        add_repair(solver, known, reader);
        break;
      case 1: {
        const std::uint64_t number = reader.read_varint();
        const Bytes payload = reader.read_bytes(reader.read_u8() % (k_payload + 2));
        solver.provide(number, payload);
        check(!solver.awaits_another(number) || payload.size() > k_payload);
        break;
      }
      case 2:
        settle(solver, reader.read_u8());
        check(!solver.poll_recovered());
        break;
      default:
        floor += reader.read_u8();
        solver.forget_below(floor);
        check(floor == 0 || !solver.awaits_another(floor - 1));
    }
    check(solver.waiting() <= k_max_equations);
  }
  return 0;
}
