#include <gtest/gtest.h>

#include "emulation/units.h"
#include "sim/bulk_host.h"
#include "sim/host_address.h"
#include "sim/simulation.h"

namespace sheaf::quic {
namespace {

using Outcome = Simulation::Outcome;

// One sender and one receiver on one path.
struct LoneTransfer {
  LoneTransfer(std::uint64_t seed, CongestionAlgorithm algorithm, std::uint64_t bytes,
               const LinkConfig& there, const LinkConfig& back)
      : sender({address(1), address(2)}, {.algorithm = algorithm}, bytes / BulkSender::k_size),
        simulation(seed) {
    simulation.add_host("sender", sender);
    simulation.add_host("receiver", receiver);
    path = &simulation.connect({"sender", address(1)}, {"receiver", address(2)}, there, back);
  }
  Outcome run(Duration limit) {
    const Time start = simulation.now();
    const Outcome outcome = simulation.run_until([&] { return sender.finished(); }, limit);
    elapsed = simulation.now() - start;
    EXPECT_FALSE(sender.violated());
    return outcome;
  }
  double goodput() const {
    return static_cast<double>(path->there.stats().bytes_delivered) /
           std::chrono::duration<double>(elapsed).count();
  }

  BulkSender sender;
  BulkReceiver receiver;
  Simulation simulation;
  NetworkPath* path;
  Duration elapsed{};
};

class BulkTransferTest : public ::testing::TestWithParam<CongestionAlgorithm> {
 protected:
  static constexpr std::uint64_t k_seed = 2024;
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(k_seed)};
};

INSTANTIATE_TEST_SUITE_P(Algorithms, BulkTransferTest,
                         ::testing::Values(CongestionAlgorithm::kNewReno,
                                           CongestionAlgorithm::kCubic, CongestionAlgorithm::kBbr,
                                           CongestionAlgorithm::kOlia),
                         [](const auto& parameter) {
                           return std::string(
                               make_congestion_controller({.algorithm = parameter.param})->name());
                         });

TEST_P(BulkTransferTest, FillsABottleneck) {
  const LinkConfig link{.queue_bytes = 100_kib, .rate = 20_mbps, .delay = 20ms};
  LoneTransfer transfer(k_seed, GetParam(), 25'000'000, link, link);
  ASSERT_EQ(transfer.run(60s), Outcome::kReached);
  EXPECT_GT(transfer.goodput(), 0.9 * 20_mbps);
  // The window stays close to the capacity of the path, so little is sent in vain.
  EXPECT_LT(transfer.path->there.stats().queue_full, transfer.sender.packets_sent / 50);
  EXPECT_LT(transfer.sender.maximum_window, 3 * (20_mbps / 25 + 100_kib));
  EXPECT_EQ(transfer.sender.path().loss.bytes_in_flight(), 0u);
}

TEST_P(BulkTransferTest, NoLossOnAnEmptyPath) {
  const LinkConfig link{.delay = 50ms};
  LoneTransfer transfer(k_seed, GetParam(), 5'000'000, link, link);
  ASSERT_EQ(transfer.run(30s), Outcome::kReached);
  EXPECT_EQ(transfer.sender.path().loss.packets_lost(), 0u);
  EXPECT_EQ(transfer.sender.probe_timeouts, 0u);
}

TEST_P(BulkTransferTest, SurvivesThirtyPercentLoss) {
  const LinkConfig link{.loss = 0.3, .delay = 10ms};
  LoneTransfer transfer(k_seed, GetParam(), 600'000, link, link);
  ASSERT_EQ(transfer.run(120s), Outcome::kReached) << transfer.sender.packets_sent;
}

TEST_P(BulkTransferTest, SurvivesEverythingAtOnce) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const LinkConfig link{.queue_bytes = 30_kib,
                          .rate = 5_mbps,
                          .loss = 0.05,
                          .duplication = 0.05,
                          .delay = 15ms,
                          .jitter = 5ms,
                          .reordering = 0.05,
                          .reordering_delay = 10ms};
    LoneTransfer transfer(seed, GetParam(), 1'000'000, link, link);
    ASSERT_EQ(transfer.run(120s), Outcome::kReached);
  }
}

TEST_P(BulkTransferTest, ReorderingIsNotTakenForCongestionForLong) {
  const LinkConfig link{
      .rate = 20_mbps, .delay = 20ms, .reordering = 0.002, .reordering_delay = 6ms};
  LoneTransfer transfer(k_seed, GetParam(), 10'000'000, link, {.delay = 20ms});
  ASSERT_EQ(transfer.run(60s), Outcome::kReached);
  EXPECT_GT(transfer.sender.path().loss.spurious_losses(), 0u);
  EXPECT_GT(transfer.goodput(), 0.85 * 20_mbps);
}

TEST_P(BulkTransferTest, RecoversAfterABlackout) {
  const LinkConfig link{.rate = 10_mbps, .delay = 20ms};
  LoneTransfer transfer(k_seed, GetParam(), 5'000'000, link, link);
  LinkConfig dead = link;
  dead.loss = 1;
  transfer.path->there.change_at(transfer.simulation.now() + 1s, dead);
  transfer.path->there.change_at(transfer.simulation.now() + 4s, link);
  ASSERT_EQ(transfer.run(60s), Outcome::kReached);
  EXPECT_GT(transfer.sender.probe_timeouts, 2u);
  // 4 s for the bytes, 3 s without the link, and at most as long again until a probe arrives.
  EXPECT_LT(transfer.elapsed, 12s);
}

TEST_P(BulkTransferTest, MarksInsteadOfLoss) {
  const LinkConfig link{
      .queue_bytes = 400_kib, .mark_bytes = 40_kib, .rate = 20_mbps, .delay = 20ms};
  LoneTransfer transfer(k_seed, GetParam(), 25'000'000, link, {.delay = 20ms});
  ASSERT_EQ(transfer.run(60s), Outcome::kReached);
  EXPECT_EQ(transfer.sender.path().ecn.state(), EcnValidation::State::kCapable);
  EXPECT_GT(transfer.path->there.stats().marked, 0u);
  EXPECT_EQ(transfer.sender.path().loss.packets_lost(), 0u);
  EXPECT_GT(transfer.goodput(), 0.85 * 20_mbps);
}

}  // namespace
}  // namespace sheaf::quic
