// Tests how many acknowledgements transfers cost.
#include "multipath/world.h"

namespace sheaf::quic {
namespace {

TEST(AckFrequency, AFastTransferCostsFewAcknowledgements) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    World world(
        {.seed = seed, .links = {{.queue_bytes = 1 << 20, .rate = 100_mbps, .delay = 20ms}}});
    ASSERT_TRUE(world.run_until_confirmed());
    world.start(Role::kServer, 20'000'000);
    world.run_for(600ms);
    const std::uint64_t sent_before = world.stats(Role::kServer, PathId{0})->packets_sent;
    const std::uint64_t acknowledgements_before =
        world.stats(Role::kClient, PathId{0})->packets_sent;
    ASSERT_TRUE(world.run_until_transferred());
    const PathStats server = *world.stats(Role::kServer, PathId{0});
    const PathStats client = *world.stats(Role::kClient, PathId{0});
    const double acknowledgements =
        static_cast<double>(client.packets_sent - acknowledgements_before) /
        static_cast<double>(server.packets_sent - sent_before);
    EXPECT_LT(acknowledgements, 0.05);
    EXPECT_GT(acknowledgements, 0.02);
  }
}

// Losses and disorder do not take longer to be noticed than the reordering threshold says.
TEST(AckFrequency, ATransferWithLossesKeepsItsSpeed) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    World world(
        {.seed = seed, .links = {{.rate = 20_mbps, .loss = 0.005, .delay = 20ms, .jitter = 1ms}}});
    ASSERT_TRUE(world.run_until_confirmed());
    world.start(Role::kServer, 4'000'000);
    ASSERT_TRUE(world.run_until_transferred());
    EXPECT_TRUE(world.ends.empty());
  }
}

// The window of the slowest path decides, since the request is about all of them.
TEST(AckFrequency, HoldsOnSeveralPaths) {
  World world(
      {.seed = 7, .links = {{.rate = 50_mbps, .delay = 20ms}, {.rate = 20_mbps, .delay = 30ms}}});
  ASSERT_TRUE(world.run_until_confirmed());
  ASSERT_TRUE(world.open_path(1));
  world.start(Role::kServer, 20'000'000);
  ASSERT_TRUE(world.run_until_transferred());
  EXPECT_TRUE(world.ends.empty());
}

}  // namespace
}  // namespace sheaf::quic
