#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "emulation/units.h"
#include "sim/bulk_host.h"
#include "sim/simulation.h"

namespace sheaf::quic {
namespace {

// A loss-based sender fills the link. CoDel keeps the standing queue near the target, where
// drop-tail lets it grow to the limit.
TEST(CoDel, KeepsTheStandingQueueOfATransferNearTheTarget) {
  constexpr std::uint64_t k_seed = 5;
  SCOPED_TRACE("seed " + std::to_string(k_seed));
  Address here{.port = 1, .family = Address::Family::kIpv4};
  Address there = here;
  there.port = 2;
  const auto run = [&](QueueDisciplineKind discipline) {
    BulkSender sender({here, there}, {.algorithm = CongestionAlgorithm::kNewReno}, 1'000'000);
    BulkReceiver receiver;
    Simulation simulation(k_seed);
    simulation.add_host("sender", sender);
    simulation.add_host("receiver", receiver);
    const LinkConfig config{
        .queue_bytes = 1 << 20, .queue_discipline = discipline, .rate = 20_mbps, .delay = 10ms};
    NetworkPath& path =
        simulation.connect({"sender", here}, {"receiver", there}, config, {.delay = 10ms});
    simulation.run_for(5s);
    const std::uint64_t before = path.there.stats().bytes_delivered;
    // The minimum wait in each interval is the standing queue.
    double standing = 0;
    constexpr int k_intervals = 100;
    for (int i = 0; i < k_intervals; ++i) {
      std::uint64_t least = UINT64_MAX;
      for (int j = 0; j < 100; ++j) {
        simulation.run_for(1ms);
        least = std::min<std::uint64_t>(least, path.there.waiting_bytes());
      }
      standing += static_cast<double>(least) / 20_mbps / k_intervals;
    }
    const auto delivered = path.there.stats().bytes_delivered - before;
    return std::pair(standing, static_cast<double>(delivered) / 10 / 20_mbps);
  };
  const auto [standing, utilisation] = run(QueueDisciplineKind::kCoDel);
  EXPECT_LT(standing, 0.010);
  EXPECT_GT(utilisation, 0.85);
  EXPECT_GT(run(QueueDisciplineKind::kDropTail).first, 0.100);
}

}  // namespace
}  // namespace sheaf::quic
