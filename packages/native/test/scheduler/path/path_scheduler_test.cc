#include "scheduler/path/path_scheduler.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace sheaf::quic {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t k_datagram = 1200;

PathSnapshot path(std::uint32_t id, int rtt_ms, std::uint64_t window, bool sendable = true) {
  return {.id = PathId{id},
          .smoothed_rtt = milliseconds(rtt_ms),
          .rtt_variance = milliseconds(1),
          .window = window,
          .capacity = window,
          .in_flight = sendable ? 0 : window,
          .sendable = sendable ? window : 0,
          .datagram_size = k_datagram};
}

constexpr SendDemand k_bulk{.unsent_bytes = 10 << 20, .flow_credit = 100 << 20};

std::optional<std::size_t> select(PathSchedulerKind kind, const std::vector<PathSnapshot>& paths,
                                  const SendDemand& demand = k_bulk) {
  return make_path_scheduler(kind)->select(paths, demand);
}

TEST(UsablePaths, LeavesOutBackupsAndSuspects) {
  std::vector<PathSnapshot> paths{path(0, 10, 20000), path(1, 10, 20000), path(2, 10, 20000),
                                  path(3, 10, 20000)};
  paths[0].suspect = true;
  paths[2].backup = true;
  EXPECT_EQ(usable_paths(paths), 2u);
  EXPECT_EQ(paths[0].id, PathId{1});
  EXPECT_EQ(paths[1].id, PathId{3});
}

TEST(UsablePaths, TakesABackupThatWorksBeforeASilentPath) {
  std::vector<PathSnapshot> paths{path(0, 10, 20000), path(1, 10, 20000)};
  paths[0].suspect = true;
  paths[1].backup = true;
  EXPECT_EQ(usable_paths(paths), 1u);
  EXPECT_EQ(paths[0].id, PathId{1});
  paths[0].suspect = true;  // now the backup is silent too: no guidance is left but the status
  EXPECT_EQ(usable_paths(paths), 1u);
  EXPECT_FALSE(paths[0].backup);
}

TEST(PathScheduler, NoneSendsWherePathsHaveNoRoom) {
  const std::vector<PathSnapshot> full{path(0, 10, 20000, false), path(1, 50, 20000, false)};
  for (const auto kind :
       {PathSchedulerKind::kEcf, PathSchedulerKind::kMinRtt, PathSchedulerKind::kRoundRobin,
        PathSchedulerKind::kWeighted, PathSchedulerKind::kBlest, PathSchedulerKind::kRedundant,
        PathSchedulerKind::kBackupOnly}) {
    EXPECT_EQ(select(kind, full), std::nullopt) << static_cast<int>(kind);
  }
}

TEST(MinimumRtt, FillsTheFastestFirst) {
  EXPECT_EQ(select(PathSchedulerKind::kMinRtt, {path(0, 50, 20000), path(1, 10, 20000)}), 1u);
  EXPECT_EQ(select(PathSchedulerKind::kMinRtt, {path(0, 50, 20000), path(1, 10, 20000, false)}),
            0u);
}

TEST(BackupOnly, KeepsToOnePath) {
  EXPECT_EQ(select(PathSchedulerKind::kBackupOnly, {path(0, 50, 20000), path(1, 10, 20000)}), 0u);
  EXPECT_EQ(select(PathSchedulerKind::kBackupOnly, {path(0, 50, 20000, false), path(1, 10, 20000)}),
            std::nullopt);
}

TEST(RoundRobin, TakesTurnsAndSkipsFullPaths) {
  const auto scheduler = make_path_scheduler(PathSchedulerKind::kRoundRobin);
  std::vector<PathSnapshot> paths{path(0, 10, 20000), path(1, 10, 20000), path(4, 10, 20000)};
  std::vector<std::uint32_t> order;
  for (int i = 0; i < 6; ++i) {
    const PathId chosen = paths[*scheduler->select(paths, k_bulk)].id;
    scheduler->on_sent(chosen, k_datagram);
    order.push_back(chosen.value);
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 1, 4, 0, 1, 4}));
  paths[0].sendable = 0;
  EXPECT_EQ(scheduler->select(paths, k_bulk), 1u);
}

TEST(Weighted, SharesBytesByWeight) {
  const auto scheduler = make_path_scheduler(PathSchedulerKind::kWeighted);
  std::vector<PathSnapshot> paths{path(0, 10, 20000), path(1, 10, 20000)};
  paths[1].weight = 3;
  std::map<std::uint32_t, std::uint64_t> bytes;
  for (int i = 0; i < 400; ++i) {
    const PathId chosen = paths[*scheduler->select(paths, k_bulk)].id;
    scheduler->on_sent(chosen, k_datagram);
    bytes[chosen.value] += k_datagram;
  }
  EXPECT_NEAR(static_cast<double>(bytes[1]) / static_cast<double>(bytes[0]), 3.0, 0.05);
}

TEST(Weighted, DoesNotMakeUpForWhatAFullPathMissed) {
  const auto scheduler = make_path_scheduler(PathSchedulerKind::kWeighted);
  std::vector<PathSnapshot> paths{path(0, 10, 20000, false), path(1, 10, 20000)};
  for (int i = 0; i < 100; ++i) {
    scheduler->on_sent(paths[*scheduler->select(paths, k_bulk)].id, k_datagram);
  }
  paths[0].sendable = 20000;
  int first = 0;
  for (int i = 0; i < 20; ++i) {
    const std::size_t chosen = *scheduler->select(paths, k_bulk);
    scheduler->on_sent(paths[chosen].id, k_datagram);
    first += chosen == 0;
  }
  EXPECT_NEAR(first, 10, 1);
}

TEST(EarliestCompletionFirst, UsesTheSlowPathForBulk) {
  EXPECT_EQ(select(PathSchedulerKind::kEcf, {path(0, 10, 20000, false), path(1, 100, 20000)}), 1u);
}

TEST(EarliestCompletionFirst, WaitsForTheFastPathWithTheLastBytes) {
  const SendDemand rest{.unsent_bytes = 10000, .flow_credit = 1 << 20};
  EXPECT_EQ(select(PathSchedulerKind::kEcf, {path(0, 10, 20000, false), path(1, 100, 20000)}, rest),
            std::nullopt);
  // A slow path that is hardly slower is worth using.
  EXPECT_EQ(select(PathSchedulerKind::kEcf, {path(0, 10, 20000, false), path(1, 14, 20000)}, rest),
            1u);
}

TEST(EarliestCompletionFirst, WaitsForNoEndThatIsNotInSight) {
  const auto scheduler = make_path_scheduler(PathSchedulerKind::kEcf);
  const std::vector<PathSnapshot> paths{path(0, 10, 200'000, false), path(1, 100, 200'000)};
  SendDemand demand{.unsent_bytes = 1 << 20, .flow_credit = 8 << 20};
  EXPECT_EQ(scheduler->select(paths, demand), std::nullopt);
  demand.unsent_bytes = UINT64_MAX;
  EXPECT_EQ(scheduler->select(paths, demand), 1u);
}

TEST(EarliestCompletionFirst, CountsWhatAPacedPathCarries) {
  // A window of twice what the path carries, as with BBR, does not make the path faster.
  std::vector<PathSnapshot> paths{path(0, 40, 200'000, false), path(1, 120, 300'000)};
  const SendDemand rest{.unsent_bytes = 300'000, .flow_credit = 100 << 20};
  EXPECT_EQ(select(PathSchedulerKind::kEcf, paths, rest), std::nullopt);
  paths[0].capacity = 100'000;
  EXPECT_EQ(select(PathSchedulerKind::kEcf, paths, rest), 1u);
}

TEST(Blest, KeepsTheSlowPathFromFillingTheWindow) {
  const std::vector<PathSnapshot> paths{path(0, 10, 50000, false), path(1, 200, 50000)};
  // In one round trip of the slow path the fast one could send about a megabyte.
  EXPECT_EQ(select(PathSchedulerKind::kBlest, paths,
                   {.unsent_bytes = 10 << 20, .flow_credit = 500 << 10}),
            std::nullopt);
  EXPECT_EQ(
      select(PathSchedulerKind::kBlest, paths, {.unsent_bytes = 10 << 20, .flow_credit = 8 << 20}),
      1u);
}

}  // namespace
}  // namespace sheaf::quic
