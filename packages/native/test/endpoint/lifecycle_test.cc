#include <gtest/gtest.h>

#include "crypto/server_secrets.h"
#include "endpoint/transfer.h"

namespace sheaf::quic {
namespace {

class Lifecycle : public testing::Test {
 protected:
  // Connects and waits for the confirmation. `server_side` becomes the accepted connection.
  ConnectionDriver& connected(EndpointPair& pair) {
    ConnectionDriver& client = pair.connect();
    EXPECT_TRUE(pair.run_until_confirmed());
    EXPECT_EQ(pair.accepted.size(), 1u);
    server_side = pair.accepted.empty() ? nullptr : pair.accepted[0];
    return client;
  }
  // Sends `size` bytes from the client and waits until the server has them.
  bool transfer(EndpointPair& pair, ConnectionDriver& client, std::size_t size) {
    const auto stream =
        client.connection().streams().writer().open(Directionality::kUnidirectional);
    if (!stream) return false;
    const auto bytes = pattern(*stream, 0, size);
    if (!client.connection().streams().writer().write(*stream, SendChunk::copy_of(bytes), true))
      return false;
    pair.wake(client);
    Receiver receiver;
    return pair.run_until([&] {
      receiver.drain(*server_side, pair.events(*server_side), pair.now);
      pair.wake(*server_side);
      return receiver.finished[stream->value] && receiver.intact;
    });
  }
  ConnectionDriver* server_side = nullptr;
};

TEST_F(Lifecycle, ApplicationCloseReachesThePeerAndBothSidesGoAway) {
  EndpointPair pair;
  ConnectionDriver& client = connected(pair);
  client.close(42, "bye", pair.now);
  pair.wake(client);
  const ConnectionDriver* server = server_side;
  EXPECT_TRUE(pair.run_until(
      [&] { return pair.client->connection_count() + pair.server->connection_count() == 0; }));
  const ConnectionClosed* closed = pair.closed(server);
  ASSERT_NE(closed, nullptr);
  EXPECT_EQ(closed->cause, ConnectionClosed::Cause::kPeerApplication);
  EXPECT_EQ(closed->error, 42u);
  EXPECT_EQ(closed->reason, "bye");
}

// Whoever hears of a connection that is freed may call others, of which some are freed with it.
TEST_F(Lifecycle, AConnectionThatIsBeingFreedMayBeWoken) {
  EndpointPair pair;
  for (int i = 0; i < 2; ++i) pair.connect();
  ASSERT_TRUE(pair.run_until([&] {
    return pair.accepted.size() == 2 && std::ranges::all_of(pair.accepted, [](auto* driver) {
             return driver->handshake_completed();
           });
  }));
  const std::vector<ConnectionDriver*> both = pair.accepted;
  Endpoint& server = *pair.server;
  const auto drain = [&] {
    while (ConnectionDriver* driver = server.next_active(pair.now)) {
      while (driver->poll_event(pair.now)) {
      }
    }
    std::vector<std::uint8_t> buffer(65536);
    TransmitBatch batch{.buffer = buffer, .max_segments = 1, .path = {}};
    do {
      server.poll_transmit(batch, pair.now);
    } while (batch.size > 0);
  };
  for (ConnectionDriver* driver : both) {
    driver->connection().abandon({.cause = ConnectionClosed::Cause::kIdle, .reason = "test"});
    server.wake(*driver, pair.now);
  }
  for (int i = 0; i < 2; ++i) drain();
  std::size_t removed = 0;
  server.reap([&](ConnectionDriver&) {
    ++removed;
    for (ConnectionDriver* driver : both) server.wake(*driver, pair.now);
  });
  EXPECT_EQ(removed, 2u);
  EXPECT_EQ(server.connection_count(), 0u);
  drain();
  pair.accepted.clear();
}

TEST_F(Lifecycle, TheClientOutlivesThePathOfItsHandshake) {
  EndpointPair pair;
  std::vector<std::uint8_t> late;  // a packet of the handshake
  AddressPair late_path;
  pair.filter = [&](bool to_server, std::vector<std::uint8_t>& bytes, AddressPair& path) {
    if (to_server || (bytes[0] & 0x80) == 0) return true;
    late = bytes;
    late_path = path;
    return true;
  };
  ConnectionDriver& client = connected(pair);
  AddressPair second = client.connection().paths().stats().front().addresses;
  ++second.local.port;
  const auto id = client.connection().paths().open(second, pair.now);
  ASSERT_TRUE(id);
  pair.wake(client);
  ASSERT_TRUE(pair.run_until([&] {
    return pair.count<PathValidatedEvent>(client) == 1 &&
           pair.count<PathValidatedEvent>(*server_side) == 1;
  }));
  ASSERT_TRUE(client.connection().paths().abandon(PathId{0}, 0, pair.now));
  pair.wake(client);
  ASSERT_TRUE(pair.run_until([&] {
    return client.connection().paths().stats().size() == 1 &&
           server_side->connection().paths().stats().size() == 1;
  }));
  pair.client->receive({late, late_path}, pair.now);
  EXPECT_TRUE(transfer(pair, client, 100'000));
}

TEST_F(Lifecycle, CloseBeforeTheClientsFinishedReachesAClientWithout1RttKeys) {
  EndpointPair pair;
  bool first = true;
  pair.filter = [&first](bool to_server, std::vector<std::uint8_t>& bytes, AddressPair&) {
    // The server never receives the Finished, and the client no 1-RTT packet.
    if (to_server) return std::exchange(first, false);
    return (bytes[0] & 0x80) != 0 && short_packet_offset(bytes) == bytes.size();
  };
  ConnectionDriver& client = pair.connect();
  ASSERT_TRUE(pair.run_until([&] { return client.handshake_completed(); }));
  ASSERT_EQ(pair.accepted.size(), 1u);
  ConnectionDriver& server = *pair.accepted[0];
  ASSERT_EQ(server.connection().state(), Connection::State::kEstablished);
  server.close(7, "secret of the application", pair.now);
  pair.wake(server);
  ASSERT_TRUE(pair.run_until([&] { return pair.closed(&client) != nullptr; }, 1s));
  EXPECT_EQ(pair.closed(&client)->error,
            static_cast<std::uint64_t>(TransportErrorCode::kApplicationError));
  EXPECT_EQ(pair.closed(&client)->reason.find("secret"), std::string::npos);
  // The server stays for a while, as after every close, and then forgets the connection.
  EXPECT_EQ(pair.closed(&server)->cause, ConnectionClosed::Cause::kLocalApplication);
  EXPECT_TRUE(pair.run_until([&] { return pair.server->connection_count() == 0; }, 10s));
}

TEST_F(Lifecycle, DataBehindALateHandshakePacketIsRead) {
  EndpointPair pair;
  std::vector<std::uint8_t> handshake;
  bool confirmed = false;
  pair.filter = [&](bool to_server, std::vector<std::uint8_t>& bytes, AddressPair&) {
    if (!to_server || bytes.empty()) return true;
    if (bytes[0] & 0x80) {
      handshake.assign(bytes.begin(),
                       bytes.begin() + static_cast<std::ptrdiff_t>(short_packet_offset(bytes)));
    } else if (confirmed) {
      bytes.insert(bytes.begin(), handshake.begin(), handshake.end());
    }
    return true;
  };
  ConnectionDriver& client = connected(pair);
  confirmed = true;
  ASSERT_FALSE(handshake.empty());
  EXPECT_TRUE(transfer(pair, client, 20000));
}

TEST_F(Lifecycle, IdleConnectionEndsSilentlyOnBothSides) {
  EndpointPair::Options options;
  options.connection.max_idle_timeout = 5s;
  EndpointPair pair(options);
  ConnectionDriver& client = connected(pair);
  pair.run_for(500ms);
  const std::uint64_t sent = pair.datagrams_sent;
  EXPECT_TRUE(pair.run_until(
      [&] { return pair.client->connection_count() + pair.server->connection_count() == 0; }, 20s));
  EXPECT_EQ(pair.closed(&client)->cause, ConnectionClosed::Cause::kIdle);
  EXPECT_LE(pair.datagrams_sent - sent, 8u);
}

// RFC 9000 §10.1.2: what is asked until the client's own timer ends is answered, though the server
// heard the client last before that.
TEST_F(Lifecycle, AServerKeepsAConnectionForLongerThanItsClient) {
  EndpointPair::Options options;
  options.connection.max_idle_timeout = 5s;
  EndpointPair pair(options);
  ConnectionDriver& client = connected(pair);
  pair.run_for(500ms);
  ASSERT_TRUE(pair.run_until([&] { return pair.client->connection_count() == 0; }, 20s));
  EXPECT_EQ(pair.closed(&client)->cause, ConnectionClosed::Cause::kIdle);
  EXPECT_EQ(pair.server->connection_count(), 1u);
  pair.run_for(700ms);
  EXPECT_EQ(pair.server->connection_count(), 1u);
  EXPECT_TRUE(pair.run_until([&] { return pair.server->connection_count() == 0; }, 1s));
}

TEST_F(Lifecycle, KeepAliveOutlivesTheIdleTimeout) {
  EndpointPair::Options options;
  options.connection.max_idle_timeout = 5s;
  options.connection.keep_alive = 2s;
  EndpointPair pair(options);
  ConnectionDriver& client = connected(pair);
  pair.run_for(60s);
  EXPECT_EQ(pair.closed(&client), nullptr);
  EXPECT_EQ(client.connection().state(), Connection::State::kEstablished);
}

TEST_F(Lifecycle, KeyUpdatesInBothDirectionsLoseNothing) {
  EndpointPair pair(3, Weather{.loss = 0.05});
  ConnectionDriver& client = connected(pair);
  int updates = 0;
  for (int round = 0; round < 6; ++round) {
    ConnectionDriver& side = round % 2 == 0 ? client : *server_side;
    pair.run_for(2s);
    if (side.connection().initiate_key_update(pair.now)) ++updates;
    pair.wake(side);
    EXPECT_TRUE(transfer(pair, client, 50000)) << round;
  }
  EXPECT_GE(updates, 4);
  EXPECT_EQ(client.connection().stats().key_updates, server_side->connection().stats().key_updates);
  EXPECT_EQ(pair.closed(&client), nullptr);
}

TEST_F(Lifecycle, NatRebindingIsFollowedAndValidated) {
  EndpointPair pair;
  ConnectionDriver& client = connected(pair);
  ASSERT_TRUE(transfer(pair, client, 10000));
  pair.client_seen_as.port = 51111;
  EXPECT_TRUE(transfer(pair, client, 100000));
  const auto paths = server_side->connection().paths().stats();
  EXPECT_EQ(paths[0].addresses.remote.port, 51111);
  EXPECT_TRUE(paths[0].validated);
  EXPECT_EQ(pair.count<PathChangedEvent>(*server_side), 1);
}

TEST_F(Lifecycle, SpoofedAddressDoesNotKeepTheConnection) {
  EndpointPair pair;
  ConnectionDriver& client = connected(pair);
  ASSERT_TRUE(transfer(pair, client, 10000));
  // One packet seems to come from another address; responses to that address are lost.
  const Address real = pair.client_seen_as;
  Address spoofed = real;
  spoofed.port = 52222;
  pair.filter = [spoofed](bool to_server, std::vector<std::uint8_t>&, AddressPair& path) {
    return to_server || path.local != spoofed;
  };
  pair.client_seen_as = spoofed;
  client.connection().ping(pair.now);
  pair.wake(client);
  pair.run_for(1ms);
  pair.client_seen_as = real;
  EXPECT_TRUE(transfer(pair, client, 100000));
  pair.run_for(10s);
  EXPECT_EQ(server_side->connection().paths().stats()[0].addresses.remote, real);
}

TEST_F(Lifecycle, ClientMigratesToAnotherLocalAddress) {
  EndpointPair pair;
  ConnectionDriver& client = connected(pair);
  ASSERT_TRUE(transfer(pair, client, 10000));
  Address moved = client.connection().paths().stats()[0].addresses.local;
  moved.ip[3] = 77;
  EXPECT_FALSE(client.connection().paths().migrate(
      Address{.ip = {}, .port = 1, .family = Address::Family::kIpv6}, pair.now));
  ASSERT_TRUE(client.connection().paths().migrate(moved, pair.now));
  pair.wake(client);
  EXPECT_TRUE(transfer(pair, client, 100000));
  EXPECT_EQ(server_side->connection().paths().stats()[0].addresses.remote, moved);
}

// RFC 9000 §9.3.3: an attacker on the path forwards a packet of the client from its own address.
TEST_F(Lifecycle, APathThatAStrangerTookComesBackAtOnce) {
  EndpointPair pair;
  ConnectionDriver& client = connected(pair);
  ASSERT_TRUE(transfer(pair, client, 10000));
  Address stranger = pair.client_seen_as;
  stranger.ip[3] = 66;
  bool taken = false;
  std::uint64_t to_stranger = 0;
  pair.filter = [&](bool to_server, std::vector<std::uint8_t>& bytes, AddressPair& path) {
    if (!to_server && path.local == stranger) {
      to_stranger += bytes.size();
      return false;
    }
    if (to_server && !std::exchange(taken, true)) path.remote = stranger;
    return true;
  };
  client.connection().ping(pair.now);
  pair.wake(client);
  const auto where = [&] { return server_side->connection().paths().stats()[0].addresses.remote; };
  ASSERT_TRUE(pair.run_until([&] { return where() == stranger; }, 100ms));
  EXPECT_TRUE(pair.run_until([&] { return where() == pair.client_seen_as; }, 100ms))
      << "the client answers the challenge with more than what a probe is";
  EXPECT_TRUE(transfer(pair, client, 100'000));
  EXPECT_EQ(where(), pair.client_seen_as);
  EXPECT_LT(to_stranger, 4000u);
}

TEST_F(Lifecycle, ConnectionIdRotationIsTransparent) {
  EndpointPair pair;
  ConnectionDriver& client = connected(pair);
  for (int round = 0; round < 10; ++round) {
    EXPECT_TRUE(client.connection().paths().rotate_connection_id()) << round;
    pair.wake(client);
    EXPECT_TRUE(transfer(pair, client, 20000)) << round;
  }
}

// These packets were sent before the id was retired, and arrive after that.
TEST_F(Lifecycle, WhatWasOvertakenByARetirementIsNoReasonForAReset) {
  EndpointPair pair(7, Weather{.reordering = 0.5});
  ConnectionDriver& client = connected(pair);
  for (int round = 0; round < 10; ++round) {
    client.connection().paths().rotate_connection_id();
    pair.wake(client);
    EXPECT_TRUE(transfer(pair, client, 20000)) << round;
  }
  EXPECT_EQ(pair.server->stats().stateless_resets_sent, 0u);
}

class LostState : public Lifecycle, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(ClientThatServesToo, LostState, testing::Bool());

TEST_P(LostState, TheServerResetsTheClient) {
  EndpointPair::Options options;
  options.secrets = {server_secret(0)};
  options.client_serves = GetParam();
  EndpointPair pair(options);
  ConnectionDriver& client = connected(pair);
  ASSERT_TRUE(transfer(pair, client, 10000));
  pair.restart_server();
  const auto stream = client.connection().streams().writer().open(Directionality::kUnidirectional);
  ASSERT_TRUE(client.connection().streams().writer().write(
      *stream, SendChunk::copy_of(pattern(*stream, 0, 100)), true));
  pair.wake(client);
  EXPECT_TRUE(pair.run_until([&] { return pair.closed(&client) != nullptr; }, 5s));
  EXPECT_EQ(pair.closed(&client)->cause, ConnectionClosed::Cause::kStatelessReset);
}

// The stateless reset for a PING is shorter than any packet that can be opened.
TEST_P(LostState, TheServerResetsAClientThatOnlyPings) {
  EndpointPair::Options options;
  options.secrets = {server_secret(0)};
  options.client_serves = GetParam();
  EndpointPair pair(options);
  ConnectionDriver& client = connected(pair);
  pair.restart_server();
  client.connection().ping(pair.now);
  pair.wake(client);
  EXPECT_TRUE(pair.run_until([&] { return pair.closed(&client) != nullptr; }, 5s));
  EXPECT_EQ(pair.closed(&client)->cause, ConnectionClosed::Cause::kStatelessReset);
}

TEST_F(Lifecycle, ResetOfAStrangerIsNotBelieved) {
  EndpointPair pair;
  ConnectionDriver& client = connected(pair);
  pair.restart_server();
  client.connection().ping(pair.now);
  pair.wake(client);
  pair.run_for(1s);
  EXPECT_GE(pair.server->stats().stateless_resets_sent, 1u);
  EXPECT_EQ(pair.closed(&client), nullptr);
}

TEST_F(Lifecycle, UnreliableDatagramsReportTheirFate) {
  EndpointPair pair(5, Weather{.loss = 0.2});
  ConnectionDriver& client = connected(pair);
  constexpr int k_count = 200;
  for (int i = 0; i < k_count; ++i) {
    const std::uint8_t payload[] = {static_cast<std::uint8_t>(i), 1, 2, 3};
    ASSERT_TRUE(client.connection().datagrams().send(payload, static_cast<std::uint64_t>(i)));
    pair.wake(client);
    pair.run_for(20ms);
  }
  pair.run_for(5s);
  int received = 0;
  while (server_side->connection().datagrams().receive()) ++received;
  const int acknowledged = pair.count<DatagramAcknowledgedEvent>(client);
  const int lost = pair.count<DatagramLostEvent>(client);
  EXPECT_EQ(acknowledged + lost, k_count);
  EXPECT_GE(received, acknowledged);
  EXPECT_GT(lost, 0);
  EXPECT_GT(received, k_count / 2);
}

TEST_F(Lifecycle, PathMtuIsDiscovered) {
  EndpointPair pair;
  ConnectionDriver& client = connected(pair);
  ASSERT_TRUE(transfer(pair, client, 200000));
  pair.run_for(5s);
  EXPECT_EQ(client.connection().paths().stats()[0].mtu, 1452);
}

TEST_F(Lifecycle, SmallerPathMtuIsRespected) {
  EndpointPair pair;
  pair.filter = [](bool, std::vector<std::uint8_t>& bytes, AddressPair&) {
    return bytes.size() <= 1300;
  };
  ConnectionDriver& client = connected(pair);
  EXPECT_TRUE(transfer(pair, client, 500000));
  const auto mtu = client.connection().paths().stats()[0].mtu;
  EXPECT_LE(mtu, 1300);
  EXPECT_GE(mtu, 1200);
}

TEST_F(Lifecycle, GarbageFromTheNetworkChangesNothing) {
  EndpointPair pair;
  ConnectionDriver& client = connected(pair);
  SeededRandom noise(99);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::uint8_t> bytes(noise.below(1500));
    noise.fill(bytes);
    AddressPair path = server_side->connection().paths().stats()[0].addresses;
    pair.server->receive({bytes, path, Ecn::kNotEct}, pair.now);
    std::swap(path.local, path.remote);
    pair.client->receive({bytes, path, Ecn::kNotEct}, pair.now);
  }
  EXPECT_TRUE(transfer(pair, client, 50000));
}

}  // namespace
}  // namespace sheaf::quic
