#include <gtest/gtest.h>

#include "endpoint/transfer.h"

namespace sheaf::quic {
namespace {

TEST(AdmissionTest, RetryIsAnsweredAndLeadsToAConnection) {
  EndpointPair::Options options;
  options.admission.retry = RetryPolicy::kAlways;
  EndpointPair pair(options);
  pair.connect();
  EXPECT_TRUE(pair.run_until_confirmed());
  EXPECT_EQ(pair.server->stats().retries_sent, 1u);
}

TEST(AdmissionTest, TokenOfAnEarlierConnectionSavesTheRetry) {
  EndpointPair::Options options;
  options.admission.retry = RetryPolicy::kAlways;
  EndpointPair pair(options);
  ConnectionDriver& first = pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  pair.run_for(1s);
  ASSERT_GE(pair.count<SessionTicketEvent>(first), 1);
  const auto session = first.session();
  ConnectionDriver& second = pair.connect(session);
  pair.run_for(1s);
  EXPECT_TRUE(second.handshake_completed());
  EXPECT_TRUE(second.resumed());
  EXPECT_EQ(pair.server->stats().retries_sent, 1u);
}

TEST(AdmissionTest, InvalidRetryTokenIsRefusedAtOnce) {
  EndpointPair::Options options;
  options.admission.retry = RetryPolicy::kAlways;
  EndpointPair pair(options);
  ConnectionDriver& client = pair.connect();
  ASSERT_TRUE(pair.run_until([&] { return pair.server->stats().retries_sent == 1; }));
  // The keys of this server differ, so it cannot read the token.
  pair.restart_server();
  ASSERT_TRUE(pair.run_until([&] { return pair.closed(&client) != nullptr; }, 1s));
  EXPECT_EQ(pair.closed(&client)->error,
            static_cast<std::uint64_t>(TransportErrorCode::kInvalidToken));
  EXPECT_EQ(pair.server->connection_count(), 0u);
}

TEST(AdmissionTest, InvalidAddressTokenIsAsGoodAsNone) {
  EndpointPair pair;
  ConnectionDriver& first = pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  pair.run_for(1s);
  auto session = parse_session_state(first.session());
  ASSERT_TRUE(session);
  ASSERT_FALSE(session->token.empty());
  session->token.back() ^= 1;
  ConnectionDriver& second = pair.connect(serialize(*session));
  pair.run_for(1s);
  EXPECT_TRUE(second.handshake_completed());
  EXPECT_EQ(pair.closed(&second), nullptr);
}

TEST(AdmissionTest, RefusesBeyondTheConnectionLimit) {
  EndpointPair::Options options;
  options.admission.max_connections = 1;
  EndpointPair pair(options);
  pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  ConnectionDriver& second = pair.connect();
  pair.run_for(5s);
  ASSERT_NE(pair.closed(&second), nullptr);
  EXPECT_EQ(pair.closed(&second)->error,
            static_cast<std::uint64_t>(TransportErrorCode::kConnectionRefused));
}

TEST(AdmissionTest, HandshakeAndEarlyAnswersTogetherKeepTheAmplificationLimit) {
  EndpointPair pair;
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  pair.filter = [&](bool to_server, std::vector<std::uint8_t>& bytes, AddressPair&) {
    if (to_server && received > 0) return false;
    (to_server ? received : sent) += bytes.size();
    // The client behind the address never receives a response.
    return to_server;
  };
  pair.connect();
  ASSERT_TRUE(pair.run_until([&] { return !pair.accepted.empty(); }));
  Connection& server = pair.accepted[0]->connection();
  ASSERT_EQ(server.state(), Connection::State::kEstablished);
  const auto stream = server.streams().writer().open(Directionality::kUnidirectional);
  ASSERT_TRUE(stream);
  ASSERT_TRUE(server.streams().writer().write(
      *stream, SendChunk::copy_of(pattern(*stream, 0, 50000)), true));
  pair.wake(*pair.accepted[0]);
  pair.run_for(8s);
  EXPECT_GT(sent, 2 * received);
  EXPECT_LE(sent, 3 * received);
}

TEST(AdmissionTest, HalfOpenFloodIsMetWithRetries) {
  EndpointPair::Options options;
  options.admission.half_open_before_retry = 16;
  EndpointPair pair(options);
  // These clients never respond: only their first datagram arrives.
  pair.filter = [](bool to_server, std::vector<std::uint8_t>&, AddressPair&) { return to_server; };
  for (int i = 0; i < 200; ++i) pair.connect();
  pair.run_for(50ms);
  EXPECT_LE(pair.server->half_open_count(), 16u);
  EXPECT_GE(pair.server->stats().retries_sent, 150u);
}

TEST(AdmissionTest, OneNetworkLeavesHalfOpenHandshakesToOthers) {
  AdmissionConfig config;
  config.max_half_open = 8;
  Admission admission(config);
  std::map<Address, std::size_t> half_open;
  Address many{.ip = {192, 0, 2, 1}, .family = Address::Family::kIpv4};
  Address other{.ip = {192, 0, 2, 2}, .family = Address::Family::kIpv4};
  const auto accepts = [&](const Address& from) {
    return !admission.refuses({0, half_open[many] + half_open[other], half_open[from]});
  };
  int accepted = 0;
  for (; accepts(many) && accepted < 100; ++accepted) ++half_open[many];
  EXPECT_EQ(accepted, 4);
  EXPECT_TRUE(accepts(other));
  --half_open[many];
  EXPECT_TRUE(accepts(many));
}

TEST(AdmissionTest, AddressesOfOneIpv6NetworkCountTogether) {
  Networks networks;
  Address one{.ip = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 1}, .family = Address::Family::kIpv6};
  Address same = one;
  same.ip[15] = 9;
  Address elsewhere = one;
  elsewhere.ip[6] = 2;
  Networks::Use& use = networks.join(one);
  EXPECT_EQ(networks.of(same).connections, 1u);
  EXPECT_EQ(networks.of(elsewhere).connections, 0u);
  EXPECT_EQ(&networks.join(same), &use);
  networks.leave(use);
  networks.leave(use);
  EXPECT_EQ(networks.of(same).connections, 0u);
  EXPECT_EQ(networks.size(), 0u);
}

TEST(AdmissionTest, OneNetworkCannotTakeAllConnections) {
  EndpointPair::Options options;
  options.admission.max_connections = 8;
  options.admission.max_connections_per_network = 4;
  EndpointPair pair(options);
  std::vector<ConnectionDriver*> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(&pair.connect());
  pair.run_for(500ms);
  EXPECT_EQ(pair.server->connection_count(), 4u);
  EXPECT_EQ(
      pair.server->stats().limit_hits[static_cast<std::size_t>(LimitHit::kNetworkConnections)], 4u);
  const auto refused = std::ranges::count_if(clients, [&](ConnectionDriver* client) {
    const ConnectionClosed* closed = pair.closed(client);
    return closed &&
           closed->error == static_cast<std::uint64_t>(TransportErrorCode::kConnectionRefused);
  });
  EXPECT_EQ(refused, 4);
}

// A client that holds connections without requests, with or without PINGs, gives way to new
// clients.
TEST(AdmissionTest, IdleConnectionsMakeRoomForNewOnes) {
  EndpointPair::Options options;
  options.admission.max_connections = 4;
  EndpointPair pair(options);
  ConnectionDriver& busy = pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  ASSERT_TRUE(busy.connection().streams().writer().open(Directionality::kBidirectional));
  ASSERT_TRUE(busy.connection().streams().writer().write(
      {0}, SendChunk::copy_of(pattern({0}, 0, 10)), false));
  pair.wake(busy);
  std::vector<ConnectionDriver*> holders;
  for (int i = 0; i < 3; ++i) holders.push_back(&pair.connect());
  pair.run_for(1s);
  for (int i = 0; i < 3; ++i) {
    for (ConnectionDriver* holder : holders) {
      holder->connection().ping(pair.now);
      pair.wake(*holder);
    }
    pair.run_for(1s);
  }
  ConnectionDriver& late = pair.connect();
  pair.run_for(1s);
  EXPECT_TRUE(late.handshake_completed());
  EXPECT_EQ(pair.closed(&late), nullptr);
  EXPECT_EQ(pair.closed(&busy), nullptr);
  const auto closed = std::ranges::count_if(
      holders, [&](ConnectionDriver* holder) { return pair.closed(holder) != nullptr; });
  EXPECT_EQ(closed, 1);
}

TEST(AdmissionTest, NobodyMakesRoomForAnAddressThatIsMadeUp) {
  EndpointPair::Options options;
  options.admission.max_connections = 1;
  EndpointPair pair(options);
  pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  pair.run_for(3s);
  const auto evicted = [&] {
    return pair.server->stats().limit_hits[static_cast<std::size_t>(LimitHit::kIdleEvicted)];
  };
  bool arrives = false;
  pair.filter = [&](bool to_server, std::vector<std::uint8_t>&, AddressPair&) {
    return to_server || arrives;
  };
  pair.connect();
  pair.run_for(1s);
  EXPECT_EQ(evicted(), 0u);
  EXPECT_GT(pair.server->stats().retries_sent, 0u);
  arrives = true;
  pair.run_for(3s);
  EXPECT_EQ(evicted(), 1u);
}

TEST(AdmissionTest, AnAddressTokenIsGoodForOneConnection) {
  EndpointPair::Options options;
  options.admission.retry = RetryPolicy::kAlways;
  EndpointPair pair(options);
  ConnectionDriver& first = pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  pair.run_for(1s);
  const auto session = first.session();
  for (std::uint64_t use = 0; use < 3; ++use) {
    ConnectionDriver& again = pair.connect(session);
    pair.run_for(1s);
    EXPECT_TRUE(again.handshake_completed());
    // The first connection got a Retry, and so did each one that used the token again.
    EXPECT_EQ(pair.server->stats().retries_sent, 1 + use);
  }
  EXPECT_EQ(pair.server->stats().limit_hits[static_cast<std::size_t>(LimitHit::kReusedTokens)], 2u);
}

TEST(AdmissionTest, StatelessResetsHaveARate) {
  EndpointPair pair;
  pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  const std::uint64_t before = pair.server->stats().stateless_resets_sent;
  std::vector<std::uint8_t> stray(100);
  AddressPair path;
  path.local.family = path.remote.family = Address::Family::kIpv4;
  for (int i = 0; i < 5000; ++i) {
    pair.random.fill(stray);
    stray[0] = 0x40;
    pair.server->receive({stray, path}, pair.now);
  }
  EXPECT_LE(pair.server->stats().stateless_resets_sent - before, 200u);
  EXPECT_GE(pair.server->stats().limit_hits[static_cast<std::size_t>(LimitHit::kStatelessResets)],
            4000u);
}

TEST(EarlyDataTest, ResumedClientSendsRequestsInItsFirstFlight) {
  EndpointPair pair;
  ConnectionDriver& first = pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  pair.run_for(1s);
  const auto session = first.session();
  ConnectionDriver& second = pair.connect(session);
  ASSERT_TRUE(second.application_ready());
  const auto stream = second.connection().streams().writer().open(Directionality::kBidirectional);
  ASSERT_TRUE(stream);
  const auto bytes = pattern(*stream, 0, 500);
  ASSERT_TRUE(
      second.connection().streams().writer().write(*stream, SendChunk::copy_of(bytes), true));
  pair.wake(second);
  const Time started = pair.now;
  Receiver receiver;
  EXPECT_TRUE(pair.run_until([&] {
    if (pair.accepted.size() < 2) return false;
    receiver.drain(*pair.accepted[1], pair.events(*pair.accepted[1]), pair.now);
    return receiver.finished[stream->value];
  }));
  // One-way delay: 10 ms.
  EXPECT_LE(pair.now - started, 11ms);
  EXPECT_TRUE(pair.accepted[1]->connection().streams().received_early(*stream));
  EXPECT_TRUE(pair.run_until([&] { return second.handshake_completed(); }));
  EXPECT_TRUE(second.early_data_accepted());
}

// A client resumes at a server that has changed and does not accept 0-RTT.
void lose_nothing(EndpointPair& pair, const std::function<void()>& change_server, bool resumes) {
  ConnectionDriver& first = pair.connect();
  ASSERT_TRUE(pair.run_until([&] { return pair.count<SessionTicketEvent>(first) > 0; }));
  pair.run_for(1s);
  const auto session = first.session();
  change_server();
  ConnectionDriver& driver = pair.connect(session);
  ASSERT_TRUE(driver.application_ready());
  const auto stream = driver.connection().streams().writer().open(Directionality::kBidirectional);
  ASSERT_TRUE(stream);
  const auto bytes = pattern(*stream, 0, 5000);
  ASSERT_TRUE(
      driver.connection().streams().writer().write(*stream, SendChunk::copy_of(bytes), true));
  pair.wake(driver);
  Receiver receiver;
  ASSERT_TRUE(pair.run_until([&] {
    for (ConnectionDriver* served : pair.accepted) {
      receiver.drain(*served, pair.events(*served), pair.now);
      pair.wake(*served);
    }
    return receiver.finished[stream->value];
  }));
  EXPECT_TRUE(receiver.intact);
  EXPECT_EQ(receiver.received[stream->value], 5000u);
  EXPECT_EQ(driver.resumed(), resumes);
  EXPECT_FALSE(driver.early_data_accepted());
  EXPECT_FALSE(pair.accepted.back()->connection().streams().received_early(*stream));
}

TEST(EarlyDataTest, RejectedEarlyDataIsSentAgain) {
  EndpointPair pair;
  lose_nothing(
      pair, [&] { pair.restart_server_without_ticket_keys(); }, false);
}

// RFC 8446 §4.1.2: the client leaves early data out of its second ClientHello.
TEST(EarlyDataTest, ARequestForAnotherHelloLosesNothing) {
  EndpointPair pair;
  lose_nothing(
      pair, [&] { pair.change_groups(); }, true);
  // The server abandons the first attempt by itself.
  pair.run_for(20s);
  EXPECT_EQ(pair.server->half_open_count(), 0u);
}

TEST(EarlyDataTest, ARequestForAnotherHelloUnderLossAndWithRetry) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    EndpointPair::Options options;
    options.seed = seed;
    options.weather = {.loss = 0.1, .duplication = 0.1, .reordering = 0.2};
    if (seed % 2 == 0) options.admission.retry = RetryPolicy::kAlways;
    EndpointPair pair(options);
    lose_nothing(
        pair, [&] { pair.change_groups(); }, true);
  }
}

// Data that is pinned to the first path need not wait for the handshake.
TEST(EarlyDataTest, WhatIsPinnedToTheFirstPathLeavesInTheFirstFlight) {
  EndpointPair pair;
  ConnectionDriver& first = pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  pair.run_for(1s);
  ConnectionDriver& second = pair.connect(first.session());
  Connection& client = second.connection();
  const auto pinned = client.streams().writer().open(Directionality::kBidirectional);
  const auto free = client.streams().writer().open(Directionality::kBidirectional);
  ASSERT_TRUE(pinned && free);
  ASSERT_TRUE(client.paths().pin(*pinned, PathId{0}));
  for (const StreamId stream : {*pinned, *free}) {
    ASSERT_TRUE(client.streams().writer().write(
        stream, SendChunk::copy_of(pattern(stream, 0, 3000)), true));
  }
  pair.wake(second);
  Receiver receiver;
  // One-way delay: 10 ms.
  EXPECT_TRUE(pair.run_until(
      [&] {
        if (pair.accepted.size() < 2) return false;
        receiver.drain(*pair.accepted[1], pair.events(*pair.accepted[1]), pair.now);
        return receiver.finished[pinned->value] && receiver.finished[free->value];
      },
      11ms));
  EXPECT_TRUE(receiver.intact);
  EXPECT_TRUE(pair.accepted[1]->connection().streams().received_early(*pinned));
}

}  // namespace
}  // namespace sheaf::quic
