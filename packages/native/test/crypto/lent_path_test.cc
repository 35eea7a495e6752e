// Tests paths on which another node seals with keys of one phase after the other, and on which the
// peer only receives (docs/internals/keys.md).
#include <gtest/gtest.h>

#include "crypto/key_peer.h"
#include "crypto/run_packets.h"

namespace sheaf::quic {
namespace {

using Outcome = OpenedPacket::Outcome;

constexpr PathId k_lent{1};
constexpr PathId k_own{0};

class LentPathTest : public testing::Test {
 protected:
  LentPathTest() : pair_(KeyMode::kPerPath) { pair_.exchange(); }

  // Seals one packet as the borrower, and opens it as the client.
  OpenedPacket send(BoundedSealer& sealer, PacketNumber number) {
    RunPackets run(k_lent, number, 1, sealer.key_phase_bit());
    const auto phase = static_cast<std::uint8_t>(sealer.generation() % PhaseKeys::k_phase_names);
    EXPECT_TRUE(sealer.permit(number, 1, phase) && sealer.seal(run.jobs));
    return pair_.client.open(run.packets[0], k_start, k_lent);
  }

  KeyPair pair_;
};

TEST_F(LentPathTest, IsSealedByTheBorrowerAlone) {
  OneRttKeys& keys = pair_.server.keys;
  EXPECT_TRUE(keys.can_send(k_lent));
  ASSERT_TRUE(keys.lend(k_lent));
  EXPECT_FALSE(keys.can_send(k_lent));
  EXPECT_FALSE(keys.can_receive(k_lent));
  EXPECT_TRUE(pair_.server.seal(k_lent).empty());
  EXPECT_FALSE(keys.lend(k_lent)) << "twice";
  EXPECT_FALSE(keys.hand_over(k_lent));
  const auto phase = keys.phase_for_sending(k_lent);
  ASSERT_TRUE(phase);
  EXPECT_EQ(phase->first_number, 0u);
  BoundedSealer sealer(*phase);
  EXPECT_EQ(send(sealer, 0).outcome, Outcome::kOpened);
  // Its keys are no good for other paths.
  EXPECT_NE(phase->packet.key, keys.phase_for_sending(k_own)->packet.key);
  EXPECT_FALSE(pair_.server.seal(k_own).empty());
}

TEST_F(LentPathTest, FollowsUpdatesThatOtherPathsConfirm) {
  pair_.client.keys.drop_sending(k_lent);
  OneRttKeys& keys = pair_.server.keys;
  ASSERT_TRUE(keys.lend(k_lent));
  BoundedSealer sealer(*keys.phase_for_sending(k_lent));
  PacketNumber number = 0;
  Time now = k_start;
  for (std::uint64_t generation = 1; generation < 5; ++generation) {
    EXPECT_EQ(send(sealer, number).outcome, Outcome::kOpened);
    EXPECT_FALSE(keys.initiate_update(k_lent, now, k_pto)) << "nothing was acknowledged";
    ASSERT_TRUE(keys.note_numbered_elsewhere(k_lent, number, 1));
    // The acknowledgement comes on path 0.
    ASSERT_EQ(pair_.server.open(pair_.client.seal(k_own), now, k_own).outcome, Outcome::kOpened);
    keys.on_acknowledged(k_lent, number, now);
    now += 4 * k_pto;
    ASSERT_TRUE(keys.initiate_update(k_lent, now, k_pto));
    const auto next = keys.phase_for_sending(k_lent);
    EXPECT_EQ(next->generation, generation);
    ASSERT_TRUE(sealer.follow(*next));
    ++number;
    RunPackets run(k_lent, number, 1, sealer.key_phase_bit());
    ASSERT_TRUE(sealer.permit(number, 1, next->phase_name()) && sealer.seal(run.jobs));
    const OpenedPacket opened = pair_.client.open(run.packets[0], now, k_lent);
    EXPECT_EQ(opened.outcome, Outcome::kOpened);
    EXPECT_EQ(opened.generation, generation);
    ASSERT_TRUE(keys.note_numbered_elsewhere(k_lent, number, 1));
    ++number;
    // The client has dropped the old keys.
    now += 4 * k_pto;
  }
  // Path 0 has its own phases.
  EXPECT_EQ(keys.generation_for_sending(k_own), 0u);
}

TEST_F(LentPathTest, CountsWhatTheBorrowerSealed) {
  OneRttKeys& keys = pair_.server.keys;
  ASSERT_TRUE(keys.lend(k_lent));
  EXPECT_FALSE(keys.wants_update(k_lent));
  ASSERT_TRUE(keys.note_numbered_elsewhere(k_lent, 0, std::uint64_t{1} << 22));
  EXPECT_TRUE(keys.wants_update(k_lent)) << "RFC 9001 §6.6: half of 2^23";
  EXPECT_FALSE(keys.wants_update(k_own));
}

TEST(LentPath, NeedsKeysOfItsOwnAndAConfirmedHandshake) {
  KeyPair shared(KeyMode::kShared);
  EXPECT_FALSE(shared.server.keys.lend(k_lent));
  OneRttKeys early;
  early.set_mode(KeyMode::kPerPath);
  early.install_send_secret(shared.server_secret);
  EXPECT_FALSE(early.lend(k_lent));
}

// A client that only receives on a path cannot seal there, and cannot answer an update.
TEST_F(LentPathTest, IsNotSealedByTheClient) {
  pair_.client.keys.drop_sending(k_lent);
  EXPECT_FALSE(pair_.client.keys.can_send(k_lent));
  EXPECT_TRUE(pair_.client.keys.can_receive(k_lent));
  EXPECT_TRUE(pair_.client.seal(k_lent).empty());
  EXPECT_FALSE(pair_.client.seal(k_own).empty());
}

}  // namespace
}  // namespace sheaf::quic
