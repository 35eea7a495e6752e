// Tests RFC 9000 §9.3: a server follows its client to another address and validates it.
#include <algorithm>

#include "connection/raw_peer.h"

namespace sheaf::quic {
namespace {

const AddressPair k_elsewhere = RawPeer::address(2);

class MigrationTest : public testing::Test {
 protected:
  MigrationTest() {
    peer_.send({RawPeer::given(1)}, peer_.path);
    for (const RawPeer::Packet& packet : peer_.collect()) {
      for (const auto& frame : packet.all<NewConnectionIdFrame>()) second_id_ = frame.id;
    }
  }
  struct Challenge {
    PathChallengeFrame frame;
    std::size_t size = 0;
  };
  // Returns the challenge that is sent to the new addresses now, if there is one.
  std::optional<Challenge> challenge() {
    for (const RawPeer::Packet& packet : peer_.collect()) {
      const auto frame = packet.find<PathChallengeFrame>();
      if (frame && packet.path == k_elsewhere) return Challenge{*frame, packet.size};
    }
    return std::nullopt;
  }
  // Returns the sequence numbers that the server retired within `limit`.
  std::vector<std::uint64_t> retired_within(Duration limit) {
    std::vector<std::uint64_t> retired;
    peer_.on_packet = [&](const RawPeer::Packet& packet) {
      for (const auto& frame : packet.all<RetireConnectionIdFrame>()) {
        retired.push_back(frame.sequence);
      }
    };
    peer_.collect();
    peer_.sleep(limit);
    peer_.on_packet = nullptr;
    return retired;
  }
  PathStats stats() const { return peer_.server.paths().stats()[0]; }

  RawPeer peer_;
  ConnectionId second_id_;  // of the server
};

// RFC 9000 §9.5: the client may keep the id, and some clients take a change of the server's id for
// an error.
TEST_F(MigrationTest, AClientThatKeepsOurIdKeepsItsOwn) {
  peer_.send({PingFrame{}}, k_elsewhere, 1200);
  bool any = false;
  for (const RawPeer::Packet& packet : peer_.collect()) {
    any |= packet.path == k_elsewhere;
    EXPECT_EQ(packet.destination, RawPeer::id(0));
    EXPECT_FALSE(packet.has<RetireConnectionIdFrame>());
  }
  EXPECT_TRUE(any);
  EXPECT_EQ(stats().addresses, k_elsewhere);
  EXPECT_TRUE(retired_within(2s).empty());
}

TEST_F(MigrationTest, AClientThatTakesAnotherIdGetsAnotherOne) {
  peer_.to = second_id_;
  peer_.send({PingFrame{}}, k_elsewhere, 1200);
  bool any = false;
  for (const RawPeer::Packet& packet : peer_.collect()) {
    if (packet.path != k_elsewhere) continue;
    any = true;
    EXPECT_EQ(packet.destination, RawPeer::id(1));
  }
  EXPECT_TRUE(any);
}

// RFC 9000 §19.16 permits to refuse a packet that retires its own id. Clients send such packets
// when they change port and id at once, while earlier packets are in flight.
TEST_F(MigrationTest, AClientMayRetireTheIdOfTheVeryPacket) {
  const ConnectionId first_id = peer_.to;
  peer_.make_server_talk();
  peer_.send({RetireConnectionIdFrame{0}}, k_elsewhere, 1200);
  peer_.send({PingFrame{}}, peer_.path, 1200);
  peer_.to = second_id_;
  peer_.send({RetireConnectionIdFrame{0}}, k_elsewhere, 1200);
  peer_.to = first_id;
  peer_.send({PingFrame{}}, k_elsewhere, 1200);
  EXPECT_EQ(peer_.server.state(), Connection::State::kEstablished);
  EXPECT_EQ(stats().addresses, k_elsewhere);
  bool another = false;
  for (const RawPeer::Packet& packet : peer_.collect()) {
    another |= packet.has<NewConnectionIdFrame>();
  }
  EXPECT_TRUE(another);
  peer_.sleep(10s);
  const std::uint64_t before = stats().packets_received;
  peer_.send({PingFrame{}}, k_elsewhere, 1200);
  EXPECT_EQ(stats().packets_received, before) << "the id is forgotten";
}

// The ports of this client change faster than round trips end.
TEST_F(MigrationTest, PortsAndIdsThatChangeAtOnceManyTimes) {
  peer_.make_server_talk();
  std::vector<ConnectionId> ids = {peer_.to, second_id_};
  std::uint8_t given = 2;
  for (std::uint8_t round = 0; round < 50; ++round) {
    const AddressPair from = RawPeer::address(static_cast<std::uint8_t>(1 + round % 5));
    std::vector<Frame> frames = {PingFrame{}};
    if (round > 0) frames = {RetireConnectionIdFrame{round - 1u}, PingFrame{}};
    peer_.to = ids.at(round);
    peer_.send(frames, from, 1200);
    if (round > 0) {  // overtaken
      peer_.to = ids.at(round - 1u);
      peer_.send({PingFrame{}}, RawPeer::address(static_cast<std::uint8_t>(1 + (round + 4) % 5)));
    }
    ASSERT_EQ(peer_.server.state(), Connection::State::kEstablished) << int{round};
    for (const RawPeer::Packet& packet : peer_.collect()) {
      for (const auto& frame : packet.all<NewConnectionIdFrame>()) ids.push_back(frame.id);
      for (const auto& frame : packet.all<RetireConnectionIdFrame>()) {
        EXPECT_NE(packet.destination, RawPeer::id(static_cast<std::uint8_t>(frame.sequence)));
        peer_.send({RawPeer::given(given++)}, from, 1200);
      }
    }
    peer_.now += 20ms;
    peer_.server.on_timeout(peer_.now);
  }
}

// Packets with this id are still in flight, and the former addresses are challenged.
TEST_F(MigrationTest, TheIdThatWasLeftIsRetiredAfterThreeProbeTimeouts) {
  peer_.to = second_id_;
  peer_.send({PingFrame{}}, k_elsewhere, 1200);
  const auto only = challenge();
  ASSERT_TRUE(only);
  peer_.send({PathResponseFrame{only->frame.data}}, k_elsewhere, 1200);
  EXPECT_TRUE(retired_within(200ms).empty());
  EXPECT_EQ(retired_within(10s), std::vector<std::uint64_t>{0});
}

TEST_F(MigrationTest, AnIdThatThePeerTakesBackIsNotKept) {
  peer_.to = second_id_;
  peer_.send({PingFrame{}}, k_elsewhere, 1200);
  peer_.collect();
  NewConnectionIdFrame next = RawPeer::given(2);
  next.retire_prior_to = 1;
  peer_.send({next}, k_elsewhere, 1200);
  const auto retired = retired_within(1ms);
  EXPECT_EQ(std::ranges::count(retired, 0u), 1);
  for (const RawPeer::Packet& packet : peer_.collect()) {
    EXPECT_NE(packet.destination, RawPeer::id(0));
  }
}

// RFC 9000 §9.3.3.
TEST_F(MigrationTest, TheFormerAddressesAreChallengedToo) {
  peer_.send({PingFrame{}}, k_elsewhere, 1200);
  std::optional<PathChallengeFrame> former;
  for (const RawPeer::Packet& packet : peer_.collect()) {
    if (packet.path != peer_.path) continue;
    former = packet.find<PathChallengeFrame>();
    EXPECT_EQ(packet.size, 1200u);
    EXPECT_FALSE(packet.has<StreamFrame>());
  }
  ASSERT_TRUE(former);
  // The client is still at its address; somebody else forwarded its packet.
  peer_.send({PathResponseFrame{former->data}, PingFrame{}}, peer_.path, 1200);
  EXPECT_EQ(stats().addresses, peer_.path);
  EXPECT_TRUE(stats().validated);
  EXPECT_EQ(stats().state, PathState::kActive);
}

TEST_F(MigrationTest, FormerAddressesThatAreSilentCostThreeChallenges) {
  peer_.send({PingFrame{}}, k_elsewhere, 1200);
  const auto only = challenge();
  ASSERT_TRUE(only);
  peer_.send({PathResponseFrame{only->frame.data}}, k_elsewhere, 1200);
  peer_.sleep(20s);
  EXPECT_LE(peer_.sent_while_asleep[peer_.path], 2 * 1200u);
  EXPECT_EQ(stats().addresses, k_elsewhere);
}

// The packets of this client leave on two interfaces in turn.
TEST_F(MigrationTest, AddressesThatAlternateAreBothValidated) {
  std::map<AddressPair, std::vector<Frame>> due;
  for (int i = 0; i < 20; ++i) {
    const AddressPair& from = i % 2 == 0 ? k_elsewhere : peer_.path;
    std::vector<Frame> frames = std::exchange(due[from], {});
    frames.push_back(PingFrame{});
    peer_.send(frames, from, 1200);
    for (const RawPeer::Packet& packet : peer_.collect()) {
      for (const auto& frame : packet.all<PathChallengeFrame>()) {
        due[packet.path].push_back(PathResponseFrame{frame.data});
      }
    }
    EXPECT_EQ(stats().addresses, from);
    if (i > 2) {
      EXPECT_TRUE(stats().validated) << i;
    }
  }
  EXPECT_EQ(peer_.server.state(), Connection::State::kEstablished);
}

// RFC 9000 §8.2.2.
TEST_F(MigrationTest, EveryChallengeIsAnsweredWhereItCame) {
  for (const AddressPair& from : {peer_.path, k_elsewhere}) {
    peer_.send({PathChallengeFrame{{1}}, PathChallengeFrame{{2}}}, from, 1200);
    peer_.send({PathChallengeFrame{{3}}}, from, 1200);
    std::vector<std::uint8_t> answered;
    for (const RawPeer::Packet& packet : peer_.collect()) {
      for (const auto& frame : packet.all<PathResponseFrame>()) {
        answered.push_back(frame.data[0]);
        EXPECT_EQ(packet.path, from);
        EXPECT_GE(packet.size, 1200u);
      }
    }
    EXPECT_EQ(answered, (std::vector<std::uint8_t>{1, 2, 3}));
  }
}

TEST_F(MigrationTest, AFloodOfChallengesIsNotKept) {
  for (int i = 0; i < 1000; ++i) {
    peer_.send({PathChallengeFrame{{static_cast<std::uint8_t>(i)}}}, peer_.path);
  }
  std::size_t answers = 0;
  for (const RawPeer::Packet& packet : peer_.collect()) {
    answers += packet.all<PathResponseFrame>().size();
  }
  EXPECT_EQ(answers, 8u);
}

TEST_F(MigrationTest, OneFullChallengeIsEnough) {
  peer_.send({PingFrame{}}, k_elsewhere, 1200);
  const auto only = challenge();
  ASSERT_TRUE(only);
  EXPECT_GE(only->size, 1200u);
  peer_.send({PathResponseFrame{only->frame.data}}, k_elsewhere, 1200);
  EXPECT_TRUE(stats().validated);
  EXPECT_EQ(stats().state, PathState::kActive);
  EXPECT_FALSE(challenge());
}

// §8.2.3: the anti-amplification limit keeps the first challenge small.
TEST_F(MigrationTest, ASmallChallengeIsFollowedByAFullOne) {
  peer_.send({PingFrame{}}, k_elsewhere, 100);
  const auto small = challenge();
  ASSERT_TRUE(small);
  EXPECT_LE(small->size, 300u);
  peer_.send({PathResponseFrame{small->frame.data}}, k_elsewhere);
  EXPECT_TRUE(stats().validated) << "the address is";
  EXPECT_EQ(stats().state, PathState::kValidating) << "its size is not";
  const auto full = challenge();
  ASSERT_TRUE(full);
  EXPECT_GE(full->size, 1200u);
  peer_.send({PathResponseFrame{full->frame.data}}, k_elsewhere);
  EXPECT_EQ(stats().state, PathState::kActive);
  EXPECT_FALSE(challenge());
  EXPECT_EQ(stats().addresses, k_elsewhere);
}

TEST_F(MigrationTest, APathThatCarriesNoFullDatagramsIsLeft) {
  peer_.send({PingFrame{}}, k_elsewhere, 100);
  const auto small = challenge();
  ASSERT_TRUE(small);
  peer_.send({PathResponseFrame{small->frame.data}}, k_elsewhere);
  // Smaller packets arrive, but the challenges do not.
  for (int i = 0; i < 100; ++i) {
    peer_.send({PingFrame{}}, k_elsewhere);
    peer_.sleep(100ms);
    if (stats().addresses == peer_.path) break;
  }
  EXPECT_EQ(stats().addresses, peer_.path);
  EXPECT_EQ(peer_.server.state(), Connection::State::kEstablished);
}

}  // namespace
}  // namespace sheaf::quic
