// RFC 9000 §9.3: a server follows its client to another address and validates it.
#include "connection/raw_peer.h"

namespace sheaf::quic {
namespace {

const AddressPair k_elsewhere = RawPeer::address(2);

class MigrationTest : public testing::Test {
 protected:
  MigrationTest() {
    peer_.send({RawPeer::given(1)}, peer_.path);
    peer_.collect();
  }
  struct Challenge {
    PathChallengeFrame frame;
    std::size_t size = 0;
  };
  // The challenge that leaves now, if there is one.
  std::optional<Challenge> challenge() {
    for (const RawPeer::Packet& packet : peer_.collect()) {
      if (const auto frame = packet.find<PathChallengeFrame>())
        return Challenge{*frame, packet.size};
    }
    return std::nullopt;
  }
  PathStats stats() const { return peer_.server.path_stats()[0]; }

  RawPeer peer_;
};

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
  // Packets of less come through, the challenges do not.
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
