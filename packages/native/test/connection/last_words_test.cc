// Tests what happens to data that an application wrote before it closes its connection.
#include <algorithm>

#include "connection/raw_peer.h"

namespace sheaf::quic {
namespace {

using Packets = std::vector<RawPeer::Packet>;

std::size_t data_bytes(const Packets& packets) {
  std::size_t bytes = 0;
  for (const RawPeer::Packet& packet : packets) {
    if (const auto frame = packet.find<StreamFrame>()) bytes += frame->data.size();
  }
  return bytes;
}

TEST(LastWords, GoBeforeTheClose) {
  RawPeer peer;
  peer.make_server_talk(100);
  peer.server.close(7, "bye", peer.now);
  const Packets packets = peer.collect();
  EXPECT_EQ(data_bytes(packets), 100u);
  ASSERT_FALSE(packets.empty());
  const auto told = packets.back().find<ConnectionCloseFrame>();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->error, 7u);
  EXPECT_EQ(
      std::ranges::count_if(
          packets, [](const auto& packet) { return packet.template has<ConnectionCloseFrame>(); }),
      1);
  // The connection sends nothing more by itself, and responds to packets only with the close.
  EXPECT_TRUE(peer.collect().empty());
  peer.send({PingFrame{}}, peer.path);
  for (const auto& answer : peer.collect()) EXPECT_TRUE(answer.has<ConnectionCloseFrame>());
}

TEST(LastWords, StayWithinTheWindow) {
  RawPeer peer;
  peer.make_server_talk();
  const std::uint64_t window = peer.server.paths().stats()[0].congestion_window;
  peer.server.close(7, "", peer.now);
  const Packets packets = peer.collect();
  EXPECT_GT(data_bytes(packets), 0u);
  EXPECT_LE(data_bytes(packets), window);
  EXPECT_TRUE(packets.back().has<ConnectionCloseFrame>());
  // The window does not open again.
  peer.send({AckFrame{.largest = 0}}, peer.path);
  EXPECT_EQ(data_bytes(peer.collect()), 0u);
}

TEST(LastWords, StayWithinTheAntiAmplificationLimit) {
  RawPeer peer({.config = {}, .validated = false, .finished_came = true});
  peer.make_server_talk();
  const std::size_t received = peer.send({PingFrame{}}, peer.path, 500);
  peer.server.close(7, "", peer.now);
  std::size_t sent = 0;
  for (const auto& packet : peer.collect()) sent += packet.size;
  EXPECT_LE(sent, 3 * received);
}

TEST(LastWords, AreNotForAPeerThatBrokeARule) {
  RawPeer peer;
  peer.make_server_talk(100);
  peer.send({HandshakeDoneFrame{}}, peer.path);
  const Packets packets = peer.collect();
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_TRUE(packets[0].has<ConnectionCloseFrame>());
}

// RFC 9000 §10.2.2: one packet with NO_ERROR. Some peers wait for it, and report an error when none
// comes.
TEST(LastWords, AnswerThePeersCloseOnce) {
  RawPeer peer;
  peer.make_server_talk(100);
  peer.send({ConnectionCloseFrame{.application = true, .error = 7, .frame_type = 0, .reason = {}}},
            peer.path);
  const Packets packets = peer.collect();
  ASSERT_EQ(packets.size(), 1u);
  const auto answer = packets[0].find<ConnectionCloseFrame>();
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->application);
  EXPECT_EQ(answer->error, 0u);
  EXPECT_EQ(data_bytes(packets), 0u);
  peer.send({PingFrame{}}, peer.path);
  EXPECT_TRUE(peer.collect().empty());
  EXPECT_EQ(peer.server.state(), Connection::State::kDraining);
}

TEST(LastWords, AreNotRepeatedToAPeerThatClosesToo) {
  RawPeer peer;
  peer.server.close(7, "bye", peer.now);
  EXPECT_FALSE(peer.collect().empty());
  peer.send({ConnectionCloseFrame{.application = false, .error = 0, .frame_type = 0, .reason = {}}},
            peer.path);
  EXPECT_TRUE(peer.collect().empty());
}

}  // namespace
}  // namespace sheaf::quic
