// Tests backends that use more of the connection than they were granted.
#include <gtest/gtest.h>

#include "multi_end/scenario.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_window = 256_kib;

BackendsWorld::Options options(std::uint64_t seed) {
  BackendsWorld::Options options = three_backends(seed);
  options.client.streams.max_connection_window = k_window;
  options.client.streams.initial_stream_window = k_window;
  options.client.streams.max_stream_window = k_window;
  return options;
}

bool open_liar_and_other(BackendsWorld& world, std::optional<PathId>& liar,
                         std::optional<PathId>& other) {
  if (!world.run_until_confirmed()) return false;
  liar = world.open(0);
  other = world.open(1);
  if (!liar || !other) return false;
  // Backend 0 makes no requests from now on.
  world.backends[0]->mute = true;
  leased_limits(world.backends[0]->connection()).extend_credit(1 << 30);
  return true;
}

void expect_that_the_rest_works(BackendsWorld& world) {
  world.client_exchange->resume(world.now());
  world.client_exchange->answers.clear();
  ASSERT_TRUE(world.client_exchange->ask(std::nullopt, 1'000'000, world.now()));
  ASSERT_TRUE(world.run_until([&] { return world.client_exchange->all_finished(); }));
  EXPECT_FALSE(world.client().closed());
}

TEST(Liars, ABackendThatExceedsTheLimitLosesItsPath) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BackendsWorld world(options(seed));
    std::optional<PathId> liar, other;
    ASSERT_TRUE(open_liar_and_other(world, liar, other));
    world.client_exchange->pause();
    ASSERT_TRUE(world.client_exchange->ask(*liar, 200'000, world.now()));
    ASSERT_TRUE(world.client_exchange->ask(*liar, 200'000, world.now()));
    ASSERT_TRUE(world.run_until([&] { return world.abandoned(*liar); }));
    EXPECT_EQ(world.abandoned(*liar)->error,
              static_cast<std::uint64_t>(TransportErrorCode::kFlowControlError));
    EXPECT_FALSE(world.abandoned(*other));
    expect_that_the_rest_works(world);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Liars, ABackendThatUsesWhatOthersHaveCostsTheBackendsAndNotTheConnection) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BackendsWorld world(options(seed));
    std::optional<PathId> liar, other;
    ASSERT_TRUE(open_liar_and_other(world, liar, other));
    world.client_exchange->pause();
    ASSERT_TRUE(world.client_exchange->ask(*liar, k_window, world.now()));
    world.run_for(3s);
    EXPECT_FALSE(world.abandoned(*liar)) << "within what the client allows to all";
    // The primary does not know this.
    const auto honest = world.client_exchange->ask(std::nullopt, 100'000, world.now());
    ASSERT_TRUE(honest);
    ASSERT_TRUE(world.run_until([&] { return world.abandoned(*liar); }));
    ASSERT_FALSE(world.client().closed());
    world.client_exchange->resume(world.now());
    ASSERT_TRUE(world.run_until([&] { return world.client_exchange->answer(*honest).finished; }));
    expect_that_the_rest_works(world);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace sheaf::quic
