#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "direct_return/own_recovery/site.h"
#include "sim/addresses.h"
#include "sim/pattern.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_cancelled_request = 0x10c;  // H3_REQUEST_CANCELLED

// A connection that is confirmed, by a response of the gateway's own.
void confirm(ReturnNetwork& network) {
  network.request(network.backends.size(), 1000);
  run_until_finished(network);
}

StreamWriter& gateway_writer(ReturnNetwork& network) {
  return network.pair.server.connection.streams().writer();
}

ReturnNetwork::Options site_that_accepts_first(std::size_t backends, double loss = 0) {
  auto options = site_with_paths(backends, loss, 10ms);
  options.start = ReturnStart::kWhenAccepted;
  options.head = 100;
  return options;
}

// The gateway's head, or what follows it, may be lost: each is settled by whoever sent it.
TEST(OwnRecoveryChanges, ABackendBeginsBehindTheHeadOfTheGateway) {
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    ReturnNetwork network(seed, site_that_accepts_first(3, 0.03));
    confirm(network);
    for (int i = 0; i < 5; ++i) ask_all(network, k_mb / 5);
    network.simulation.after(200ms, [&] { network.kill(1); });
    run_until_finished(network);
    EXPECT_EQ(network.proxied, 1u) << seed;
    EXPECT_GT(network.backends[0].executor.stats().packets, 0u);
    EXPECT_EQ(network.backends[0].executor.stats().runs, 0u);
  }
}

// Whether a backend uses what the client permits is its own matter.
TEST(OwnRecoveryChanges, ABackendWithoutRecoveryOfItsOwnSendsRuns) {
  auto options = site_with_paths(2);
  options.start = std::nullopt;
  ReturnNetwork network(9, options);
  confirm(network);
  ask_all(network, k_mb);
  run_until_finished(network);
  EXPECT_EQ(network.proxied, 1u);
  EXPECT_GT(network.backends[0].executor.stats().runs, 0u);
}

// An offer that gives no permission takes none back, whatever the gateway has sent meanwhile.
TEST(OwnRecoveryChanges, AnOfferThatIsWithdrawnTakesNothingOfTheGatewayBack) {
  auto options = site_that_accepts_first(1);
  options.backends[0].thinks = 10s;
  ReturnNetwork network(11, options);
  confirm(network);
  const StreamId stream = network.request(0, k_mb / 10);
  network.simulation.run_for(50ms);
  ASSERT_EQ(network.gateway.delegated.streams(), 1u);
  for (std::uint64_t from = 0; from < k_mb / 10;) {
    const Bytes piece = pattern_from(from, k_mb / 10 - from);
    from += piece.size();
    ASSERT_TRUE(gateway_writer(network).write(stream, SendChunk(piece, nullptr, nullptr),
                                              from == k_mb / 10));
  }
  network.simulation.run_for(45ms);
  const RemoteStreams& remote = network.pair.server.connection.extension().streams().remote();
  const std::uint64_t numbered = remote.numbered(stream);
  EXPECT_GT(numbered, 0u);
  network.gateway.delegated.revoke(stream);
  EXPECT_EQ(remote.numbered(stream), numbered);
  run_until_finished(network);
}

TEST(OwnRecoveryChanges, AClientThatAbandonsTheFirstPathLosesAllOthersOfBackends) {
  ReturnNetwork network(21, site_with_paths(2));
  const AddressPair second{ipv4({192, 0, 2, 10}, 50000), ipv4({203, 0, 113, 7}, 443)};
  network.simulation.connect({"client", second.local}, {"gateway", second.remote},
                             {.queue_bytes = 1 << 20, .rate = 12'500'000, .delay = 20ms});
  confirm(network);
  ask_all(network, 5 * k_mb);
  Connection& client = network.pair.client.connection;
  network.simulation.after(
      150ms, [&] { EXPECT_TRUE(client.paths().open(second, network.simulation.now())); });
  network.simulation.after(
      400ms, [&] { EXPECT_TRUE(client.paths().abandon(PathId{0}, 0, network.simulation.now())); });
  run_until_finished(network);
  EXPECT_EQ(network.orphans.size(), 2u);
  for (const auto& orphan : network.orphans) {
    EXPECT_EQ(orphan.reason, OrphanedStream::Reason::kPaths);
  }
  EXPECT_TRUE(network.gateway.delegated.idle());
  EXPECT_GT(network.gateway.delegated.next_timeout(), network.simulation.now());
}

// What a backend has delivered so far is a total, which goes on after a move to another host.
TEST(OwnRecoveryChanges, TheWindowGrowsAfterAMoveToAnotherHost) {
  ReturnNetwork network(31, site_with_paths(1));
  confirm(network);
  const StreamId stream = network.request(0, 12 * k_mb);
  network.simulation.run_until([&] { return network.response(stream).received > 8 * k_mb; }, 30s);
  const Time moved_at = network.simulation.now();
  network.simulation.rebind(network.access, ipv4({192, 0, 2, 77}, 50000));
  run_until_finished(network);
  EXPECT_TRUE(network.orphans.empty());
  // A window that stays at its first size would take 11 s for the rest.
  EXPECT_LT(network.response(stream).finished_at - moved_at, 3s);
}

// As long as the gateway does not know that a backend has begun, it may end the stream itself.
TEST(OwnRecoveryChanges, TheEndOfAStreamWaitsForTheGateway) {
  auto options = site_with_paths(1);
  options.backends[0].thinks = 300ms;
  ReturnNetwork network(41, options);
  confirm(network);
  const StreamId reset = network.request(0, 3000);
  const StreamId whole = network.request(0, 3000);
  network.simulation.run_for(200ms);
  EXPECT_EQ(network.response(reset).received, 2999u);
  EXPECT_TRUE(gateway_writer(network).reset(reset, k_cancelled_request));
  network.gateway.delegated.revoke(reset);
  network.simulation.run_until([&] { return network.response(whole).finished; }, 10s);
  EXPECT_EQ(network.response(whole).received, 3000u);
  EXPECT_TRUE(network.response(reset).reset);
  EXPECT_EQ(network.pair.client.connection.closed(), nullptr);
}

// As NEW_CONNECTION_ID with *Retire Prior To* does
TEST(OwnRecoveryChanges, BackendsFollowAConnectionIdThatTheClientRetires) {
  ReturnNetwork network(51, site_with_paths(1));
  confirm(network);
  network.request(0, 12 * k_mb);
  network.simulation.after(200ms, [&] {
    PathTable& paths = network.pair.server.connection.extension().paths();
    EXPECT_TRUE(paths.find(PathId{1})->remote_ids.rotate());
  });
  run_until_finished(network);
  EXPECT_TRUE(network.orphans.empty());
}

// Returns the share of the first backend in a long download, some time after another one was asked.
std::uint32_t share_beside(std::size_t other_backend) {
  ReturnNetwork network(61, site_with_paths(2));
  confirm(network);
  network.drain(1);
  std::uint32_t share = 0;
  const auto say = network.gateway.on_message;
  network.gateway.on_message = [&](std::size_t backend, std::vector<std::uint8_t> message) {
    const auto datagram = decode_run_datagram(message);
    const auto* reports =
        datagram ? std::get_if<std::vector<AckReport>>(&datagram->messages) : nullptr;
    if (reports != nullptr && backend == 0) share = reports->back().window;
    say(backend, std::move(message));
  };
  network.request(0, 20 * k_mb);
  network.simulation.run_for(300ms);
  network.request(other_backend, 1000);
  network.simulation.run_for(100ms);
  return share;
}

// Whoever refuses has nothing to send. The gateway's own response takes no share, either.
TEST(OwnRecoveryChanges, ARefusedGrantHasNoShareOfTheWindow) {
  const std::uint32_t beside_gateway = share_beside(2), beside_refusal = share_beside(1);
  EXPECT_GT(beside_refusal, beside_gateway / 5 * 4);
}

}  // namespace
}  // namespace sheaf::quic
