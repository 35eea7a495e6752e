// Tests how soon a server validates an address that a NAT gave its client.
#include "multipath/world.h"

namespace sheaf::quic {
namespace {

// The NAT of a path's client was gone for a while, so that the window of the side that sends is
// full of packets that were lost. Then the client has another port.
class Rebinding : public testing::TestWithParam<std::tuple<Role, std::size_t>> {
 protected:
  static Role sender() { return std::get<0>(GetParam()); }
  static std::size_t paths() { return std::get<1>(GetParam()); }

  static World::Options options(std::uint64_t seed) {
    World::Options options{.seed = seed, .links = {}};
    options.links.assign(paths(), {.rate = 20_mbps, .delay = 20ms});
    for (ConnectionConfig* config : {&options.client, &options.server}) {
      config->streams.initial_connection_window = 1 << 24;
      config->streams.initial_stream_window = 1 << 24;
      config->multipath = paths() > 1;
    }
    return options;
  }
  // Returns how long the server needs to validate the last path, from the client's first packet on.
  static Duration validation(World& world) {
    const std::size_t last = paths() - 1;
    const PathId path{static_cast<std::uint32_t>(last)};
    const auto at_server = [&] { return *world.stats(Role::kServer, path); };
    world.set_down(last, true);
    world.run_for(150ms);
    Address seen = World::addresses(last).local;
    seen.port = 50'001;
    world.simulation.rebind(*world.links[last], seen);
    world.set_down(last, false);
    world.client().ping(world.now());
    world.run_for(1us);
    world.client().ping(world.now());
    EXPECT_TRUE(world.run_until([&] { return at_server().addresses.remote == seen; }, 2s));
    const Time start = world.now();
    EXPECT_TRUE(world.run_until([&] { return at_server().validated; }, 10s));
    return world.now() - start;
  }
};

// The client sends small packets from its new port, and the server owes them an acknowledgement at
// once. If that left alone, the challenge would wait for a probe timeout of either side.
TEST_P(Rebinding, IsValidatedAtTheFirstPacket) {
  const std::uint64_t seeds = paths() == 1 ? 20 : 5;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    World world(options(seed));
    ASSERT_TRUE(world.run_until_confirmed());
    for (std::size_t i = 1; i < paths(); ++i) ASSERT_TRUE(world.open_path(i));
    world.start(sender(), 8'000'000);
    world.run_for(400ms + 1ms * static_cast<int>(seed));
    EXPECT_LT(validation(world), 42ms);  // one round trip
    EXPECT_TRUE(world.run_until_transferred());
  }
}

INSTANTIATE_TEST_SUITE_P(SendersAndPaths, Rebinding,
                         testing::Combine(testing::Values(Role::kServer, Role::kClient),
                                          testing::Values(1u, 2u, 3u)));

}  // namespace
}  // namespace sheaf::quic
