// Tests how soon a server that sends validates an address that a NAT gave its client.
#include "multipath/world.h"

namespace sheaf::quic {
namespace {

// The NAT was gone for a while, so that the server's window is full of packets that were lost. The
// client sends small packets from its new port, and the server owes them an acknowledgement at
// once. If that left alone, the challenge would wait for a probe timeout of either side.
TEST(Rebinding, IsValidatedAtTheFirstPacket) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World::Options options{.seed = seed, .links = {{.rate = 20_mbps, .delay = 20ms}}};
    options.client.streams.initial_connection_window = 1 << 24;
    options.client.streams.initial_stream_window = 1 << 24;
    World world(options);
    ASSERT_TRUE(world.run_until_confirmed());
    world.start(Role::kServer, 8'000'000);
    world.run_for(400ms + 1ms * static_cast<int>(seed));
    world.set_down(0, true);
    world.run_for(150ms);
    Address seen = World::addresses(0).local;
    seen.port = 50'001;
    world.simulation.rebind(*world.links[0], seen);
    world.set_down(0, false);
    world.client().ping(world.now());
    world.run_for(1us);
    world.client().ping(world.now());
    const auto moved = [&] { return world.server().paths().stats()[0].addresses.remote == seen; };
    ASSERT_TRUE(world.run_until(moved, 1s));
    const Time start = world.now();
    const auto validated = [&] { return world.server().paths().stats()[0].validated; };
    ASSERT_TRUE(world.run_until(validated, 10s));
    EXPECT_LT(world.now() - start, 42ms);  // one round trip
    EXPECT_TRUE(world.run_until_transferred());
  }
}

}  // namespace
}  // namespace sheaf::quic
