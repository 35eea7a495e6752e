// Tests RFC 9000 §5.1: a peer may use a connection id at once, even in packets of the handshake.
#include <gtest/gtest.h>

#include <set>

#include "connection/raw_peer.h"
#include "endpoint/transfer.h"

namespace sheaf::quic {
namespace {

bool give_data(EndpointPair& pair, ConnectionDriver& driver, StreamId& stream, std::size_t bytes) {
  const auto opened = driver.connection().streams().writer().open(Directionality::kUnidirectional);
  if (!opened) return false;
  stream = *opened;
  const auto written = driver.connection().streams().writer().write(
      stream, SendChunk::copy_of(pattern(stream, 0, bytes)), true);
  pair.wake(driver);
  return bool(written);
}

TEST(ConnectionIdChangeTest, AServerGivesNoIdsBeforeTheClientsFinished) {
  EndpointPair pair;
  bool finished_is_lost = true;
  pair.filter = [&](bool to_server, std::vector<std::uint8_t>&, AddressPair&) {
    return !to_server || !finished_is_lost || pair.datagrams_sent < 2;
  };
  ConnectionDriver& client = pair.connect();
  ASSERT_TRUE(pair.run_until([&] {
    return !pair.accepted.empty() && pair.count<EstablishedEvent>(*pair.accepted[0]) > 0;
  }));
  ConnectionDriver& server = *pair.accepted[0];
  StreamId stream{};
  ASSERT_TRUE(give_data(pair, server, stream, 2000));
  Receiver receiver;
  ASSERT_TRUE(pair.run_until([&] {
    receiver.drain(client, pair.events(client), pair.now);
    return receiver.finished[stream.value];
  })) << "the client reads packets that the server sent before the handshake was complete";
  EXPECT_FALSE(server.handshake_completed());
  EXPECT_FALSE(client.connection().paths().rotate_connection_id()) << "there is no other id";
  finished_is_lost = false;
  ASSERT_TRUE(pair.run_until([&] { return pair.count<HandshakeConfirmedEvent>(client) > 0; }));
  EXPECT_TRUE(client.connection().paths().rotate_connection_id());
}

// A loss of 5 % makes the server's first ids arrive in any order with its other packets.
TEST(ConnectionIdChangeTest, AClientThatChangesWheneverItCanIsServed) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    EndpointPair pair(seed, {.loss = 0.05});
    ConnectionDriver& client = pair.connect();
    StreamId upload{};
    StreamId download{};
    bool uploading = false;
    bool downloading = false;
    int changes = 0;
    Receiver at_client;
    Receiver at_server;
    EXPECT_TRUE(pair.run_until([&] {
      changes += client.connection().paths().rotate_connection_id();
      if (!uploading && pair.count<EstablishedEvent>(client) > 0) {
        uploading = give_data(pair, client, upload, 100'000);
      }
      pair.wake(client);
      at_client.drain(client, pair.events(client), pair.now);
      if (pair.accepted.empty()) return false;
      ConnectionDriver& server = *pair.accepted[0];
      if (!downloading && pair.count<EstablishedEvent>(server) > 0) {
        downloading = give_data(pair, server, download, 100'000);
      }
      pair.wake(server);
      at_server.drain(server, pair.events(server), pair.now);
      return uploading && downloading && at_client.finished[download.value] &&
             at_server.finished[upload.value];
    }));
    EXPECT_TRUE(at_client.intact && at_server.intact);
    EXPECT_GT(changes, 3);
    EXPECT_EQ(pair.closed(&client), nullptr);
  }
}

// The ids of all paths are usable as soon as they were issued, in any order.
TEST(ConnectionIdChangeTest, FirstPacketsOfSeveralPathsRightAfterConfirmation) {
  RawPeer::Options options;
  options.multipath = true;
  options.finished_came = false;
  RawPeer peer(options);
  peer.make_server_talk(2000);
  for (const RawPeer::Packet& packet : peer.collect()) {
    EXPECT_FALSE(packet.has<PathNewConnectionIdFrame>() || packet.has<MaxPathIdFrame>());
  }
  peer.server.establishment().install_receive_secret(known_secret(2), peer.now);
  peer.server.establishment().confirm_handshake({}, peer.now);
  std::map<PathId, std::set<ConnectionId>> given;
  for (const RawPeer::Packet& packet : peer.collect()) {
    for (const auto& frame : packet.all<PathNewConnectionIdFrame>()) {
      given[frame.path].insert(frame.issued.id);
    }
  }
  for (const std::uint32_t path : {3u, 1u, 2u}) {
    ASSERT_EQ(given[PathId{path}].size(), 2u);
    // Uses the second id without ever using the first.
    const ConnectionId& destination = *given[PathId{path}].rbegin();
    const NewConnectionIdFrame reply{
        .sequence = 0, .retire_prior_to = 0, .id = RawPeer::id_on(PathId{path}), .reset_token = {}};
    peer.send_on({PathId{path}, destination}, {PathNewConnectionIdFrame{PathId{path}, reply}},
                 RawPeer::address(static_cast<std::uint8_t>(path)), 1200);
    bool challenged = false;
    for (const RawPeer::Packet& packet : peer.collect()) {
      challenged |= packet.path_id == PathId{path} && packet.has<PathChallengeFrame>();
    }
    EXPECT_TRUE(challenged) << path;
  }
  EXPECT_EQ(peer.server.paths().stats().size(), 4u);
}

}  // namespace
}  // namespace sheaf::quic
