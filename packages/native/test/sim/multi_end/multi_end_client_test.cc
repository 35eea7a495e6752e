#include "sim/multi_end/multi_end_client.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "emulation/units.h"
#include "multi_end/backends.h"

namespace sheaf::quic {
namespace {

using Delivery = MultiEndClient::Delivery;

MultiEndNetwork::Options with_backends(std::size_t backends) {
  const LinkConfig near{.rate = 1000_mbps, .delay = 1ms}, far{.rate = 1000_mbps, .delay = 11ms};
  MultiEndNetwork::Options options{.primary = far, .backends = {}, .client = {}, .server = {}};
  options.backends.assign(backends, {.client = near, .primary = near});
  offer_multi_end(options.client, BackendKeyModes::k_per_path);
  offer_multi_end(options.server, BackendKeyModes::k_per_path);
  return options;
}

// Holds one run: a network, and a client that sends requests once all paths exist.
struct TransferWorld {
  explicit TransferWorld(Delivery delivery,
                         const MultiEndNetwork::Options& options = with_backends(2),
                         std::uint64_t seed = 5)
      : simulation(seed), network(simulation, options), client(simulation, delivery) {
    client.use(network);
    const std::size_t offered = std::min(options.first_backends, options.backends.size());
    EXPECT_TRUE(run_until([&] { return network.open_paths() == offered; }));
    simulation.run_for(300ms);
  }
  bool run_until(const std::function<bool()>& reached, Duration limit = 20s) {
    return simulation.run_until(reached, limit) == Simulation::Outcome::kReached;
  }
  bool run_until_done() {
    return run_until([&] { return std::ranges::all_of(client.transfers(), &Transfer::done); });
  }
  // Checks that everything requested has arrived as it was sent.
  void check() {
    for (const Transfer& transfer : client.transfers()) {
      EXPECT_FALSE(transfer.failed);
      EXPECT_TRUE(transfer.intact);
      EXPECT_EQ(transfer.received, transfer.wanted.length);
    }
  }
  std::uint64_t streams_at(std::size_t backend) {
    return network.backend(backend).connection()->stats().streams_total;
  }

  Simulation simulation;
  MultiEndNetwork network;
  MultiEndClient client;
};

TEST(MultiEndClient, AsksTheBackendThatHasIt) {
  TransferWorld world(Delivery::kDirect);
  world.client.start({.length = 300'000, .backend = 1});
  world.client.start({.length = 10, .upload = 300'000, .backend = 1});
  ASSERT_TRUE(world.run_until_done());
  world.check();
  EXPECT_EQ(world.streams_at(0), 0u);
  EXPECT_EQ(world.streams_at(1), 2u);
  EXPECT_EQ(world.network.primary().stats().streams_total, 0u);
}

TEST(MultiEndClient, ItsPrimaryProxies) {
  TransferWorld world(Delivery::kProxied);
  world.client.start({.length = 3'000'000, .backend = 1});
  world.client.start({.length = 10, .upload = 3'000'000, .backend = 0});
  ASSERT_TRUE(world.run_until_done());
  world.check();
  EXPECT_EQ(world.streams_at(0) + world.streams_at(1), 0u);
  EXPECT_EQ(world.network.primary().stats().streams_total, 2u);
}

TEST(MultiEndClient, HasTheFirstByteAfterARoundTripToTheBackend) {
  // Two milliseconds, plus the time to transmit the packets.
  constexpr Duration k_allowed = 100us;
  TransferWorld direct(Delivery::kDirect), proxied(Delivery::kProxied);
  for (TransferWorld* world : {&direct, &proxied}) {
    world->client.start({.length = 1000, .backend = 0});
    ASSERT_TRUE(world->run_until_done());
  }
  const auto first_byte = [](const TransferWorld& world) {
    const Transfer& transfer = world.client.transfers()[0];
    return *transfer.first_byte - transfer.asked;
  };
  EXPECT_GE(first_byte(direct), 2ms);
  EXPECT_LE(first_byte(direct), 2ms + k_allowed);
  EXPECT_GE(first_byte(proxied), 24ms);
}

TEST(MultiEndClient, SpreadsRequestsThatAnyBackendCanAnswer) {
  TransferWorld world(Delivery::kDirect, with_backends(4));
  for (int i = 0; i < 8; ++i) world.client.start({.length = 50'000});
  ASSERT_TRUE(world.run_until_done());
  world.check();
  for (std::size_t backend = 0; backend < 4; ++backend) EXPECT_EQ(world.streams_at(backend), 2u);
}

TEST(MultiEndClient, ResumesWhereALostAnswerStopped) {
  TransferWorld world(Delivery::kDirect);
  world.client.start({.length = 5'000'000, .backend = 0});
  ASSERT_TRUE(world.run_until([&] { return world.client.transfers()[0].received > 1'000'000; }));
  world.network.crash_backend(0);
  ASSERT_TRUE(world.run_until_done());
  world.check();
  EXPECT_EQ(world.client.transfers()[0].attempts, 2u);
  EXPECT_EQ(world.client.transfers()[0].resumed, 1u);
}

TEST(MultiEndClient, WithoutAnyBackendLeftThePrimaryAnswers) {
  TransferWorld world(Delivery::kDirect, with_backends(1));
  world.client.start({.length = 5'000'000});
  ASSERT_TRUE(world.run_until([&] { return world.client.transfers()[0].received > 1'000'000; }));
  world.network.cut_client_path(0);
  ASSERT_TRUE(world.run_until_done());
  world.check();
  EXPECT_EQ(world.network.primary().stats().streams_total, 1u);
}

// The response runs out of credit, and the client has nothing to send that the primary would have
// to acknowledge, so it sends a PING.
TEST(MultiEndClient, NoticesAPrimaryThatItHasNothingToTell) {
  MultiEndNetwork::Options options = with_backends(1);
  options.lease.credit = 20'000;
  TransferWorld world(Delivery::kDirect, options);
  bool dialled = false;
  world.client.dial = [&] { dialled = true; };
  world.network.crash_primary();
  world.client.start({.length = 100'000, .backend = 0});
  const Time asked = world.simulation.now();
  ASSERT_TRUE(world.run_until([&] { return dialled; }));
  EXPECT_LE(world.simulation.now() - asked, 4s);
  EXPECT_FALSE(world.client.transfers()[0].done());
}

// Four backends hold all the credit that the client granted, and one of them has something to send.
TEST(MultiEndClient, IdleBackendsDoNotStarveABusyOne) {
  MultiEndNetwork::Options options = with_backends(4);
  options.client.streams.initial_connection_window = 256_kib;
  options.lease.credit = 64 << 10;
  TransferWorld world(Delivery::kDirect, options);
  world.client.start({.length = 2'000'000, .backend = 2});
  ASSERT_TRUE(world.run_until_done());
  world.check();
}

}  // namespace
}  // namespace sheaf::quic
