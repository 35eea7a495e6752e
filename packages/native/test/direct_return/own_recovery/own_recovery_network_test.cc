#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "direct_return/own_recovery/site.h"
#include "sim/addresses.h"

namespace sheaf::quic {
namespace {

// What backends sent, and no runs
std::uint64_t packets_of_backends(const ReturnNetwork& network) {
  std::uint64_t packets = 0;
  for (const BackendExecutorHost& backend : network.backends) {
    EXPECT_EQ(backend.executor.stats().runs, 0u);
    packets += backend.executor.stats().packets;
  }
  return packets;
}

TEST(OwnRecovery, ABackendSendsAResponseOnItsPath) {
  ReturnNetwork network(1, site_with_paths(1));
  network.request(1, 1000);  // the gateway's own, so that the connection is confirmed
  run_until_finished(network);
  const StreamId stream = network.request(0, 3 * k_mb);
  run_until_finished(network);
  EXPECT_EQ(network.response(stream).received, 3 * k_mb);
  EXPECT_EQ(network.proxied, 1u);
  EXPECT_GE(packets_of_backends(network), 3 * k_mb / 1452);
  EXPECT_LE(packets_of_backends(network), 3 * k_mb / 1100);
  const Duration took = network.response(stream).finished_at - network.response(stream).asked_at;
  std::cout << "3 MB in " << to_seconds(took) << " s\n";
  // The response leaves with the grant: after the way of the request to the backend.
  EXPECT_LE(network.response(stream).first_at - network.response(stream).asked_at, 42ms);
  network.simulation.run_for(1s);
  EXPECT_EQ(network.backends[0].executor.grants(), 0u);
  EXPECT_EQ(network.gateway.delegated.streams(), 0u);
}

TEST(OwnRecovery, ManyBackendsSendAtATimeWhateverIsLost) {
  std::uint64_t seed = 10;
  for (const std::size_t backends : {1, 2, 4, 8}) {
    for (const double loss : {0.0, 0.001, 0.02}) {
      ReturnNetwork network(++seed, site_with_paths(backends, loss, 10ms));
      SCOPED_TRACE("seed " + std::to_string(seed));
      network.request(backends, 1000);
      run_until_finished(network);
      ask_all(network, 2 * k_mb / backends);
      run_until_finished(network);
      EXPECT_EQ(network.proxied, 1u);
      EXPECT_GT(packets_of_backends(network), 2 * k_mb / 1452);
      EXPECT_TRUE(network.orphans.empty());
    }
  }
}

TEST(OwnRecovery, IsReplayedByItsSeed) {
  std::uint64_t digest = 0;
  for (int i = 0; i < 2; ++i) {
    ReturnNetwork network(5, site_with_paths(3, 0.01));
    ask_all(network, k_mb / 2);
    run_until_finished(network);
    if (i == 0) digest = network.simulation.digest();
    EXPECT_EQ(network.simulation.digest(), digest);
  }
}

TEST(OwnRecovery, FollowsKeyUpdatesAndTheClientsAddress) {
  for (std::uint64_t seed = 51; seed < 54; ++seed) {
    ReturnNetwork network(seed, site_with_paths(3, 0.001));
    network.request(3, 1000);
    run_until_finished(network);
    ask_all(network, 3 * k_mb);
    for (const Duration at : {150ms, 900ms}) {
      network.simulation.after(at, [&] {
        EXPECT_TRUE(network.pair.server.connection.initiate_key_update(network.simulation.now()));
      });
    }
    network.simulation.after(400ms, [&] {
      network.simulation.rebind(network.access, ipv4({192, 0, 2, 9}, 61000));
    });
    run_until_finished(network);
    // Path 0 and three paths of backends, twice each
    EXPECT_GE(network.pair.server.connection.stats().key_updates, 6u) << seed;
    EXPECT_EQ(network.proxied, 1u);
    EXPECT_TRUE(network.orphans.empty());
  }
}

TEST(OwnRecovery, GoesOnAtAnotherBackendWhenOneDies) {
  for (std::uint64_t seed = 71; seed < 76; ++seed) {
    ReturnNetwork network(seed, site_with_paths(3, 0.001));
    network.request(3, 1000);
    run_until_finished(network);
    ask_all(network, 2 * k_mb);
    network.simulation.after(200ms, [&] { network.kill(1); });
    run_until_finished(network);
    ASSERT_EQ(network.orphans.size(), 1u) << seed;
    EXPECT_EQ(network.orphans[0].reason, OrphanedStream::Reason::kSilent);
    EXPECT_GT(network.orphans[0].acknowledged, 0u);
    EXPECT_EQ(network.proxied, 1u) << seed;
    // Its path is abandoned, and the client permits others.
    network.simulation.run_for(5s);
    ask_all(network, k_mb / 10);
    run_until_finished(network);
  }
}

TEST(OwnRecovery, GoesOnAtAnotherBackendWhenOneDoesNotReachTheClient) {
  for (std::uint64_t seed = 76; seed < 79; ++seed) {
    auto options = site_with_paths(3);
    options.backends[1].reaches = false;
    ReturnNetwork network(seed, options);
    network.request(3, 1000);
    run_until_finished(network);
    ask_all(network, 2 * k_mb);
    run_until_finished(network);
    ASSERT_EQ(network.orphans.size(), 1u) << seed;
    EXPECT_EQ(network.orphans[0].reason, OrphanedStream::Reason::kUnreachable);
    EXPECT_EQ(network.orphans[0].acknowledged, 0u);
  }
}

TEST(OwnRecovery, GoesOnWhenMessagesAreLost) {
  for (std::uint64_t seed = 61; seed < 66; ++seed) {
    auto options = site_with_paths(3, 0.001);
    for (ReturnNetwork::Backend& backend : options.backends) backend.order_loss = 0.05;
    ReturnNetwork network(seed, options);
    network.request(3, 1000);
    run_until_finished(network);
    ask_all(network, k_mb);
    run_until_finished(network);
  }
}

TEST(OwnRecovery, EndsWithARequestThatTheClientGivesUp) {
  ReturnNetwork network(81, site_with_paths(2));
  network.request(2, 1000);
  run_until_finished(network);
  const StreamId given_up = network.request(0, 50 * k_mb);
  const StreamId other = network.request(1, 2 * k_mb);
  network.simulation.after(200ms, [&] {
    EXPECT_TRUE(network.pair.client.connection.streams().reader().stop_sending(given_up, 7));
  });
  network.simulation.run_until([&] { return network.response(other).finished; }, 30s);
  EXPECT_EQ(network.response(other).received, 2 * k_mb);
  network.simulation.run_for(2s);
  EXPECT_EQ(network.backends[0].executor.grants(), 0u);
  EXPECT_EQ(network.pair.client.connection.closed(), nullptr);
  EXPECT_LT(network.response(given_up).received, 10 * k_mb);
}

// A path costs a path id, so it is kept for the next responses, and given back when none comes.
TEST(OwnRecovery, GivesPathsBack) {
  ReturnNetwork network(90, site_with_paths(1));
  network.request(1, 1000);
  run_until_finished(network);
  for (int i = 0; i < 3; ++i) {
    network.request(0, 50'000);
    run_until_finished(network);
    network.simulation.run_for(3s);
    EXPECT_FALSE(network.gateway.delegated.idle());
  }
  network.simulation.run_for(10s);
  EXPECT_TRUE(network.gateway.delegated.idle());
  network.request(0, 50'000);
  run_until_finished(network);
  EXPECT_EQ(network.proxied, 1u);
}

// A client that did not agree is served by runs.
TEST(OwnRecovery, NeedsBothSides) {
  auto options = site_with_paths(2);
  options.own_recovery = false;
  offer_return_paths(options.gateway);
  ReturnNetwork network(91, options);
  ask_all(network, k_mb);
  run_until_finished(network);
  EXPECT_EQ(network.proxied, 0u);
  EXPECT_GT(network.backends[0].executor.stats().runs, 0u);
}

}  // namespace
}  // namespace sheaf::quic
