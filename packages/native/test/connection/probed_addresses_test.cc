// Tests RFC 9000 §9.1 and §9.5: a peer probes addresses that the path does not use.
#include "connection/raw_peer.h"

namespace sheaf::quic {
namespace {

const AddressPair k_probed = RawPeer::address(2);

TEST(ProbedAddressesTest, TheResponseUsesAnIdOfItsOwn) {
  RawPeer peer;
  peer.send({RawPeer::given(1)}, peer.path);
  peer.collect();
  const std::uint64_t in_flight = peer.server.paths().stats()[0].bytes_in_flight;
  peer.send({PathChallengeFrame{{1, 2, 3}}}, k_probed, 1200);
  const auto answers = peer.collect();
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(answers[0].path, k_probed);
  EXPECT_EQ(answers[0].destination, RawPeer::id(1));
  EXPECT_TRUE(answers[0].has<PathResponseFrame>());
  EXPECT_EQ(answers[0].size, 1200u);
  // The counts of the path include none of this.
  EXPECT_EQ(peer.server.paths().stats()[0].bytes_in_flight, in_flight);
  EXPECT_EQ(peer.server.paths().stats()[0].addresses, peer.path);
  for (std::size_t i = 1; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].path, peer.path);
    EXPECT_EQ(answers[i].destination, RawPeer::id(0));
  }
}

TEST(ProbedAddressesTest, WithoutAnUnusedIdThereIsNoAnswer) {
  RawPeer peer;
  peer.collect();
  peer.send({PathChallengeFrame{{1, 2, 3}}}, k_probed, 1200);
  for (const auto& packet : peer.collect()) EXPECT_EQ(packet.path, peer.path);
}

TEST(ProbedAddressesTest, AnswersStayWithinThreeTimesWhatCame) {
  RawPeer peer;
  peer.send({RawPeer::given(1)}, peer.path);
  peer.collect();
  std::size_t received = 0;
  std::size_t sent = 0;
  for (int i = 0; i < 20; ++i) {
    received += peer.send({PathChallengeFrame{{1, 2, 3}}}, k_probed);
    for (const auto& packet : peer.collect()) {
      if (packet.path == k_probed) sent += packet.size;
    }
  }
  EXPECT_GT(sent, received);
  EXPECT_LE(sent, 3 * received);
}

TEST(ProbedAddressesTest, APeerThatMovesThereKeepsTheIdAndTheResponse) {
  RawPeer peer;
  peer.send({RawPeer::given(1), RawPeer::given(2)}, peer.path);
  for (const auto& packet : peer.collect()) {
    for (const auto& frame : packet.all<NewConnectionIdFrame>()) peer.to = frame.id;
  }
  peer.send({PathChallengeFrame{{1, 2, 3}}, PingFrame{}}, k_probed, 1200);
  int answers = 0;
  for (const auto& packet : peer.collect()) {
    const bool left = packet.path == peer.path;
    EXPECT_EQ(packet.destination, RawPeer::id(left ? 0 : 1));
    if (left) continue;
    EXPECT_EQ(packet.path, k_probed);
    answers += packet.has<PathResponseFrame>();
  }
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(peer.server.paths().stats()[0].addresses, k_probed);
}

TEST(ProbedAddressesTest, APeerThatMovesThereWithTheIdItHadKeepsItsOwn) {
  RawPeer peer;
  peer.send({RawPeer::given(1), RawPeer::given(2)}, peer.path);
  peer.collect();
  peer.send({PathChallengeFrame{{1, 2, 3}}, PingFrame{}}, k_probed, 1200);
  int answers = 0;
  for (const auto& packet : peer.collect()) {
    EXPECT_EQ(packet.destination, RawPeer::id(0));
    answers += packet.path == k_probed && packet.has<PathResponseFrame>();
  }
  EXPECT_EQ(answers, 1);
  // The id that was set aside serves the next addresses.
  peer.send({PathChallengeFrame{{4}}}, RawPeer::address(3), 1200);
  bool answered = false;
  for (const auto& packet : peer.collect()) {
    if (packet.path != RawPeer::address(3)) continue;
    answered = true;
    EXPECT_NE(packet.destination, RawPeer::id(0));
  }
  EXPECT_TRUE(answered);
}

TEST(ProbedAddressesTest, AClosingConnectionFollowsNobody) {
  RawPeer peer;
  peer.collect();
  peer.server.close(1, "", peer.now);
  peer.collect();
  peer.send({PingFrame{}}, k_probed, 1200);
  for (const auto& packet : peer.collect()) EXPECT_EQ(packet.path, peer.path);
}

TEST(ProbedAddressesTest, ManyAddressesCostIdsOfThePeerOnly) {
  RawPeer peer;
  peer.send({RawPeer::given(1), RawPeer::given(2), RawPeer::given(3)}, peer.path);
  for (std::uint8_t i = 2; i < 200; ++i) {
    peer.send({PathChallengeFrame{{i}}}, RawPeer::address(i), 1200);
    peer.collect();
  }
  EXPECT_EQ(peer.server.state(), Connection::State::kEstablished);
}

}  // namespace
}  // namespace sheaf::quic
