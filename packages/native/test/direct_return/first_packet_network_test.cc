// Tests first packets of backends from end to end (docs/internals/direct-return.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "sim/direct_return/return_network.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_body = 300'000;
using Doubt = DelegatedStreams::Doubt;

// Ways as in topology B of figure 12: gateway and client 10 ms apart, as are backend and client,
// and gateway and backend 20 ms.
ReturnNetwork::Options far_backends(std::size_t count = 2) {
  ReturnNetwork::Options options;
  options.access = {.queue_bytes = 1 << 20, .rate = 12'500'000, .delay = 9ms};
  options.gateway_way = 1ms;
  options.head = 100;
  for (std::size_t i = 0; i < count; ++i) options.backends.push_back({.order = 20ms, .way = 1ms});
  return options;
}

// The handshake is confirmed, and the round trip known.
void warm_up(ReturnNetwork& network) {
  network.request(network.backends.size(), 1000);
  network.simulation.run_until([&] { return network.all_finished(); }, 5s);
  network.simulation.run_for(1s);
}

void finish(ReturnNetwork& network) {
  const auto outcome = network.simulation.run_until([&] { return network.all_finished(); }, 30s);
  EXPECT_EQ(outcome, Simulation::Outcome::kReached) << "seed " << network.simulation.seed();
  EXPECT_TRUE(network.all_intact());
}

void expect_nothing_left(ReturnNetwork& network) {
  network.simulation.run_for(2s);
  EXPECT_EQ(network.gateway.delegated.streams(), 0u);
  EXPECT_TRUE(network.gateway.delegated.idle());
  EXPECT_EQ(network.pair.client.connection.closed(), nullptr);
  EXPECT_EQ(network.pair.server.connection.closed(), nullptr);
}

std::uint64_t credit(ReturnNetwork& network) {
  return network.pair.server.connection.extension().streams().outgoing().connection_credit();
}

TEST(FirstPacket, ComesWithoutAWayBackToTheGateway) {
  ReturnNetwork network(1, far_backends());
  warm_up(network);
  const StreamId stream = network.request(0, k_body);
  finish(network);
  const ReturnNetwork::Response& response = network.response(stream);
  EXPECT_LE(response.first_at - response.asked_at, 42ms) << "10, 20 and 10 ms";
  EXPECT_LE(response.first_body_at - response.asked_at, 42ms);
  EXPECT_EQ(network.proxied, 1u);
  EXPECT_EQ(network.traffic().lost, 0u);
  expect_nothing_left(network);
}

// The client has not acknowledged the first response when the second request comes.
TEST(FirstPacket, ComesBesideAFewPackets) {
  ReturnNetwork network(36, far_backends());
  warm_up(network);
  const StreamId one = network.request(0, k_body);
  const StreamId other = network.request(1, k_body);
  network.simulation.run_for(15ms);
  EXPECT_GT(network.gateway.delegated.first_bytes(one), 0u);
  EXPECT_GT(network.gateway.delegated.first_bytes(other), 0u);
  finish(network);
  for (const StreamId stream : {one, other}) {
    const ReturnNetwork::Response& response = network.response(stream);
    EXPECT_LE(response.first_body_at - response.asked_at, 43ms) << "10, 20 and 10 ms";
  }
  EXPECT_EQ(network.traffic().lost, 0u);
  expect_nothing_left(network);
}

// HTTP/3 confirms the headers of a request by some bytes of another stream, which wait then.
TEST(FirstPacket, ComesBeforeAFewBytesThatWait) {
  ReturnNetwork network(37, far_backends());
  warm_up(network);
  const StreamId stream = network.request(0, k_body);
  network.simulation.run_for(9ms);
  StreamWriter& writer = network.pair.server.connection.streams().writer();
  const StreamId waits = *writer.open(Directionality::kUnidirectional);
  const std::array<std::uint8_t, 2> bytes{0x00, 0x01};
  ASSERT_TRUE(writer.write(waits, SendChunk::copy_of(bytes), false));
  network.simulation.run_for(6ms);
  EXPECT_GT(network.gateway.delegated.first_bytes(stream), 0u);
  network.simulation.run_until([&] { return network.response(stream).finished; }, 10s);
  EXPECT_TRUE(network.response(stream).finished);
}

// Nobody limits these packets but the number of them.
TEST(FirstPacket, ComesToAFewOfManyRequests) {
  ReturnNetwork network(38, far_backends());
  warm_up(network);
  std::vector<StreamId> streams;
  for (int i = 0; i < 30; ++i) streams.push_back(network.request(i % 2, 20'000));
  network.simulation.run_for(15ms);
  const auto first = std::ranges::count_if(
      streams, [&](StreamId stream) { return network.gateway.delegated.first_bytes(stream) > 0; });
  EXPECT_GE(first, 2);
  EXPECT_LE(first, 10);
  finish(network);
  EXPECT_EQ(network.traffic().lost, 0u);
  expect_nothing_left(network);
}

// Otherwise packets would overtake it, and the client would acknowledge each of them.
TEST(FirstPacket, NotOnABusyConnection) {
  ReturnNetwork network(2, far_backends());
  warm_up(network);
  network.request(0, 3'000'000);
  network.simulation.run_for(150ms);
  const StreamId second = network.request(1, k_body);
  network.simulation.run_for(11ms);
  EXPECT_EQ(network.gateway.delegated.first_bytes(second), 0u);
  finish(network);
  expect_nothing_left(network);
}

TEST(FirstPacket, CostsADeclinedOfferNoCredit) {
  ReturnNetwork network(3, far_backends());
  warm_up(network);
  network.drain(0);
  network.drain(1);
  const std::uint64_t before = credit(network);
  const StreamId stream = network.request(0, k_body);
  network.simulation.run_for(15ms);
  const std::uint64_t first = network.gateway.delegated.first_bytes(stream);
  EXPECT_GT(first, 1000u);
  EXPECT_EQ(credit(network), before - first);
  network.simulation.run_for(36ms);
  EXPECT_LE(before - credit(network), first) << "the next backend is asked, too";
  finish(network);
  EXPECT_EQ(network.proxied, 2u);
  expect_nothing_left(network);
}

TEST(FirstPacket, IsNotSentWhenTheResponseEndsBefore) {
  ReturnNetwork network(4, far_backends());
  warm_up(network);
  const StreamId stream = network.request(0, 500);
  finish(network);
  EXPECT_EQ(network.response(stream).received, 500u);
  EXPECT_EQ(network.proxied, 1u);
  expect_nothing_left(network);
}

TEST(FirstPacket, IsRefusedByABackendThatTakesItsTime) {
  auto options = far_backends();
  options.backends[0].decides = 700ms;
  ReturnNetwork network(5, options);
  warm_up(network);
  const std::uint64_t packets = network.traffic().packets;
  network.request(0, k_body);
  network.simulation.run_for(700ms);
  // Nobody probes for a packet that was not sent.
  EXPECT_LE(network.traffic().packets, packets + 2);
  finish(network);
  EXPECT_EQ(network.traffic().lost, 0u);
  expect_nothing_left(network);
}

TEST(FirstPacket, IsRepairedWhenItIsLost) {
  for (std::uint64_t seed = 6; seed < 26; ++seed) {
    auto options = far_backends();
    options.access.loss = 0.2;
    ReturnNetwork network(seed, options);
    SCOPED_TRACE("seed " + std::to_string(seed));
    warm_up(network);
    for (int i = 0; i < 5; ++i) {
      network.request(0, 20'000);
      finish(network);
    }
    EXPECT_EQ(network.pair.server.connection.closed(), nullptr);
  }
}

// The keys and the address change between the offer and the acceptance.
TEST(FirstPacket, BearsAKeyUpdateAndAMove) {
  for (const bool moves : {false, true}) {
    for (Duration at = 1ms; at < 60ms; at += 4ms) {
      ReturnNetwork network(30, far_backends());
      warm_up(network);
      network.request(0, k_body);
      network.simulation.after(at, [&] {
        Connection& client = network.pair.client.connection;
        if (moves) {
          network.simulation.rebind(
              network.access,
              {.ip = {192, 0, 2, 9}, .port = 61000, .family = Address::Family::kIpv4});
        } else {
          EXPECT_TRUE(client.extension().keys().initiate_update(PathId{0}, network.simulation.now(),
                                                                100ms));
        }
        client.extension().paths().find(PathId{0})->path->ping_due = true;
      });
      SCOPED_TRACE((moves ? "moves after " : "new keys after ") + std::to_string(at / 1ms) + " ms");
      finish(network);
      EXPECT_EQ(network.proxied, 1u);
      expect_nothing_left(network);
    }
  }
}

TEST(FirstPacket, OfACancelledRequestHarmsNobody) {
  for (Duration at = 1ms; at < 60ms; at += 4ms) {
    ReturnNetwork network(31, far_backends());
    warm_up(network);
    const StreamId given_up = network.request(0, k_body);
    network.simulation.run_for(at);
    EXPECT_TRUE(network.pair.client.connection.streams().reader().stop_sending(given_up, 7));
    network.simulation.run_for(1s);
    const StreamId next = network.request(1, k_body);
    network.simulation.run_until([&] { return network.response(next).finished; }, 10s);
    EXPECT_TRUE(network.response(next).finished) << at / 1ms;
    EXPECT_TRUE(network.all_intact());
    expect_nothing_left(network);
  }
}

// A backend that dies has said before the packet that it accepts, or has sent neither.
TEST(FirstPacket, ComesFromAnotherBackendWhenOneDies) {
  for (Duration at = 1ms; at < 90ms; at += 2ms) {
    ReturnNetwork network(32, far_backends());
    warm_up(network);
    const StreamId stream = network.request(0, k_body);
    network.simulation.after(at, [&] { network.kill(0); });
    SCOPED_TRACE("dies after " + std::to_string(at / 1ms) + " ms");
    finish(network);
    EXPECT_LE(network.response(stream).longest_stall, 1500ms);
    expect_nothing_left(network);
  }
}

TEST(FirstPacket, IsInDoubtUntilTheClientHasAnsweredWithoutIt) {
  ReturnNetwork network(33, far_backends());
  warm_up(network);
  network.kill(0);
  const StreamId stream = network.request(0, k_body);
  network.simulation.run_for(20ms);
  EXPECT_GT(network.gateway.delegated.first_bytes(stream), 0u);
  network.gateway.delegated.revoke(stream);
  const auto doubt = [&] {
    return network.gateway.delegated.doubt(stream, network.simulation.now());
  };
  EXPECT_EQ(doubt(), Doubt::kOpen);
  EXPECT_FALSE(network.gateway.delegated.idle());
  const auto again =
      network.gateway.delegated.offer(stream, network.gateway.orders[1], network.simulation.now());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error(), OfferRefusal::kTaken);
  int looks = 0;
  for (; doubt() == Doubt::kOpen && looks < 100; ++looks) network.simulation.run_for(10ms);
  EXPECT_EQ(doubt(), Doubt::kNone);
  EXPECT_GE(looks, 2);
}

// What it says is lost with the connection of both, and the packet is not.
TEST(FirstPacket, ThatNobodyElseKnowsResetsItsStream) {
  ReturnNetwork network(34, far_backends());
  warm_up(network);
  const StreamId stream = network.request(0, k_body);
  network.simulation.run_for(35ms);  // the request has arrived after 30 ms
  network.set_cut(0, true);
  network.simulation.run_until([&] { return network.response(stream).reset; }, 5s);
  EXPECT_TRUE(network.response(stream).reset);
  EXPECT_GT(network.response(stream).received, 1000u);
  EXPECT_TRUE(network.all_intact());
  const StreamId next = network.request(1, k_body);
  network.simulation.run_until([&] { return network.response(next).finished; }, 10s);
  EXPECT_TRUE(network.response(next).finished);
  expect_nothing_left(network);
}

// The session has ended, so the backend sends nothing more. The gateway still hears that it has
// accepted.
TEST(FirstPacket, IsKnownAfterTheSession) {
  for (Duration at = 11ms; at < 51ms; at += 4ms) {
    ReturnNetwork network(35, far_backends());
    warm_up(network);
    const StreamId stream = network.request(0, k_body);
    network.simulation.after(at,
                             [&] { network.gateway.orders[0].end_all(network.simulation.now()); });
    SCOPED_TRACE("ends after " + std::to_string(at / 1ms) + " ms");
    finish(network);
    EXPECT_EQ(network.response(stream).received, k_body);
    expect_nothing_left(network);
  }
}

}  // namespace
}  // namespace sheaf::quic
