#include <cstdlib>

#include "fec/repair_planner.h"

namespace {

using namespace sheaf::quic;
using namespace sheaf::quic::fec;

constexpr ReceiverKey k_receivers = 3;

void report(RepairPlanner& planner, Reader& reader) {
  const ReceiverKey key = reader.read_u8() % k_receivers;
  const std::uint64_t largest = reader.read_varint();
  std::vector<Interval> open;
  for (std::size_t left = reader.read_u8() % 80; left > 0 && reader.ok(); --left) {
    const std::uint64_t start = reader.read_varint();
    open.push_back({start, start + reader.read_varint()});
  }
  planner.report(key, largest, open);
}

// Returns how many rows were planned. One in two sets of few receivers reaches them otherwise.
std::size_t plan(RepairPlanner& planner, std::uint64_t& next, std::size_t max_rows) {
  std::size_t rows = 0;
  const auto planned = planner.plan(max_rows);
  for (const PlannedRepairs& each : planned) {
    rows += each.rows;
    if (each.receivers == 1 && max_rows % 2 == 0) {
      std::size_t taken = 0;
      planner.hand_over(each.set, [&](ReceiverKey, std::uint64_t) { ++taken; });
      if (taken < each.rows) std::abort();
      continue;
    }
    if (each.rows == 0 || each.rows > each.set.size() || each.receivers == 0) std::abort();
    if (each.set.first() < planner.floor() || each.set.last() >= next) std::abort();
    planner.sent(each, next + rows);
  }
  planner.advance(next += rows + 1);
  if (rows > max_rows) std::abort();
  return rows;
}

}  // namespace

// Gives a source hostile reports of three receivers. Checks that it makes no more rows than they
// may ask for together, and only of packets in reach.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Reader reader({data, size});
  const PlannerSettings settings{.reach = 512};
  RepairPlanner planner(settings);
  for (ReceiverKey key = 0; key < k_receivers; ++key) planner.add_receiver();
  std::uint64_t next = 0;
  std::size_t rows = 0;
  while (reader.ok() && !reader.empty()) {
    const std::uint8_t action = reader.read_u8();
    if (action < 64) planner.advance(next += action);
    if (action >= 64 && action < 160) report(planner, reader);
    if (action >= 160) rows += plan(planner, next, reader.read_u8());
  }
  if (rows > k_receivers * (settings.max_saved_rows + next / settings.packets_per_row))
    std::abort();
  return 0;
}
