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

ConnectionConfig client_that(bool takes_requests) {
  ConnectionConfig config;
  config.take_ack_frequency = takes_requests;
  return config;
}

// What a transfer of 4 MB over a way with losses and disorder takes, from a server that may ask for
// fewer acknowledgements, or may not.
Duration duration_with_losses(std::uint64_t seed, bool asks) {
  World world({.seed = seed,
               .links = {{.rate = 20_mbps, .loss = 0.005, .delay = 20ms, .jitter = 1ms}},
               .client = client_that(asks)});
  EXPECT_TRUE(world.run_until_confirmed());
  const Time start = world.now();
  world.start(Role::kServer, 4'000'000);
  EXPECT_TRUE(world.run_until_transferred());
  EXPECT_TRUE(world.ends.empty());
  return world.now() - start;
}

// Losses and disorder do not take longer to be noticed than the reordering threshold says. How long
// one transfer takes depends on which of its packets are lost.
TEST(AckFrequency, TransfersWithLossesKeepTheirSpeed) {
  Duration asked{};
  Duration unasked{};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    asked += duration_with_losses(seed, true);
    unasked += duration_with_losses(seed, false);
  }
  EXPECT_LT(asked, unasked * 11 / 10);
  EXPECT_GT(asked, unasked * 9 / 10);
}

// The window of the slowest path decides, since the request is about all of them.
TEST(AckFrequency, HoldsOnSeveralPaths) {
  const auto acknowledgements_per_packet = [](bool asks) {
    World world({.seed = 7,
                 .links = {{.rate = 50_mbps, .delay = 20ms}, {.rate = 20_mbps, .delay = 30ms}},
                 .client = client_that(asks)});
    EXPECT_TRUE(world.run_until_confirmed());
    EXPECT_TRUE(world.open_path(1));
    world.start(Role::kServer, 20'000'000);
    EXPECT_TRUE(world.run_until_transferred());
    EXPECT_TRUE(world.ends.empty());
    double sent = 0;
    double answers = 0;
    for (const PathId path : {PathId{0}, PathId{1}}) {
      const auto packets = static_cast<double>(world.stats(Role::kServer, path)->packets_sent);
      EXPECT_GT(packets, 1000);
      sent += packets;
      answers += static_cast<double>(world.stats(Role::kClient, path)->packets_sent);
    }
    return answers / sent;
  };
  EXPECT_LT(acknowledgements_per_packet(true), acknowledgements_per_packet(false) / 3);
}

}  // namespace
}  // namespace sheaf::quic
