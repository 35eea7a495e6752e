#include "crypto/one_rtt_keys.h"

#include <gtest/gtest.h>

#include "crypto/key_peer.h"

namespace sheaf::quic {
namespace {

using Outcome = OpenedPacket::Outcome;

class OneRttKeysTest : public testing::TestWithParam<KeyMode>, protected KeyPair {
 protected:
  OneRttKeysTest() : KeyPair(GetParam()) {}

  // Gives the peer only the client's keys as they were after the handshake.
  void make_sender_of_old(KeyPeer& old) const {
    old.keys.set_mode(mode);
    old.keys.install_send_secret(client_secret);
  }
};

INSTANTIATE_TEST_SUITE_P(KeyModes, OneRttKeysTest,
                         testing::Values(KeyMode::kShared, KeyMode::kPerPath),
                         [](const auto& mode) {
                           return mode.param == KeyMode::kShared ? "Shared" : "PerPath";
                         });

TEST_P(OneRttKeysTest, OpensWhatThePeerSealed) {
  const OpenedPacket opened = server.open(client.seal());
  EXPECT_EQ(opened.outcome, Outcome::kOpened);
  EXPECT_EQ(opened.number, 0u);
  EXPECT_FALSE(opened.key_updated);
  EXPECT_EQ(server.open(client.seal()).number, 1u);
}

TEST_P(OneRttKeysTest, DropsForgedAndShortPackets) {
  const std::vector<std::uint8_t> whole = client.seal();
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::vector<std::uint8_t> packet = whole;
    packet[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    EXPECT_EQ(server.open(packet).outcome, Outcome::kDropped) << "bit " << bit;
  }
  for (std::size_t length = 1; length < whole.size(); ++length) {
    std::vector<std::uint8_t> packet(whole.begin(), whole.begin() + static_cast<long>(length));
    EXPECT_EQ(server.open(packet).outcome, Outcome::kDropped) << "length " << length;
  }
  EXPECT_EQ(server.open(whole).outcome, Outcome::kOpened);
}

TEST_P(OneRttKeysTest, EitherDirectionMayBeMissing) {
  OneRttKeys none;
  none.set_mode(mode);
  EXPECT_FALSE(none.can_send({}));
  EXPECT_FALSE(none.can_receive({}));
  EXPECT_FALSE(none.can_receive());
  EXPECT_FALSE(none.initiate_update({}, k_start, k_pto));
  none.on_acknowledged({}, 0, k_start);
  EXPECT_EQ(none.updates(), 0u);
  EXPECT_EQ(none.key_phase_bit({}), 0);
}

TEST_P(OneRttKeysTest, UpdatesAndThePeerFollows) {
  exchange();
  ASSERT_TRUE(client.keys.initiate_update({}, k_start, k_pto));
  EXPECT_EQ(client.keys.key_phase_bit({}), k_key_phase_bit);

  const OpenedPacket opened = server.open(client.seal());
  EXPECT_EQ(opened.outcome, Outcome::kOpened);
  EXPECT_TRUE(opened.key_updated);
  EXPECT_EQ(server.keys.key_phase_bit({}), k_key_phase_bit);
  EXPECT_EQ(server.keys.updates(), 1u);

  const OpenedPacket answer = client.open(server.seal());
  EXPECT_EQ(answer.outcome, Outcome::kOpened);
  EXPECT_FALSE(answer.key_updated);  // it was ours
  EXPECT_EQ(client.keys.updates(), 1u);
}

TEST_P(OneRttKeysTest, UpdatesManyTimesInTurn) {
  exchange();
  Time now = k_start;
  for (std::uint64_t update = 1; update <= 6; ++update) {
    now += 4 * k_pto;
    KeyPeer& initiator = update % 2 == 1 ? client : server;
    ASSERT_TRUE(initiator.keys.initiate_update({}, now, k_pto)) << update;
    exchange(now);
    EXPECT_EQ(client.keys.updates(), update);
    EXPECT_EQ(server.keys.updates(), update);
  }
}

TEST_P(OneRttKeysTest, BothMayUpdateAtOnce) {
  exchange();
  ASSERT_TRUE(client.keys.initiate_update({}, k_start, k_pto));
  ASSERT_TRUE(server.keys.initiate_update({}, k_start, k_pto));
  exchange();
  EXPECT_EQ(client.keys.updates(), 1u);
  EXPECT_EQ(server.keys.updates(), 1u);
}

// RFC 9001 §6.1.
TEST_P(OneRttKeysTest, DoesNotUpdateBeforeTheHandshakeIsConfirmed) {
  KeyPeer early;
  make_sender_of_old(early);
  early.seal();
  early.keys.on_acknowledged({}, 0, k_start);
  EXPECT_FALSE(early.keys.initiate_update({}, k_start, k_pto));
  early.keys.confirm_handshake();
  EXPECT_TRUE(early.keys.initiate_update({}, k_start, k_pto));
}

TEST_P(OneRttKeysTest, DoesNotUpdateBeforeAPacketOfThePhaseIsAcknowledged) {
  EXPECT_FALSE(client.keys.initiate_update({}, k_start, k_pto));
  exchange();
  EXPECT_TRUE(client.keys.initiate_update({}, k_start, k_pto));
  EXPECT_FALSE(client.keys.initiate_update({}, k_start + 100 * k_pto, k_pto));
}

// RFC 9001 §6.5, RFC 10069 §5.6.
TEST_P(OneRttKeysTest, WaitsThreeProbeTimeoutsBetweenUpdates) {
  exchange();
  ASSERT_TRUE(client.keys.initiate_update({}, k_start, k_pto));
  exchange(k_start + 10 * k_pto);
  EXPECT_FALSE(client.keys.initiate_update({}, k_start + 13 * k_pto - Duration(1), k_pto));
  EXPECT_TRUE(client.keys.initiate_update({}, k_start + 13 * k_pto, k_pto));
}

TEST_P(OneRttKeysTest, KeepsOldKeysForThreeProbeTimeouts) {
  exchange();
  const std::vector<std::uint8_t> first = client.seal();
  const std::vector<std::uint8_t> second = client.seal();
  ASSERT_TRUE(client.keys.initiate_update({}, k_start, k_pto));
  ASSERT_TRUE(server.open(client.seal()).key_updated);
  EXPECT_EQ(server.open(second, k_start + 3 * k_pto - Duration(1)).outcome, Outcome::kOpened);
  EXPECT_EQ(server.open(first, k_start + 3 * k_pto).outcome, Outcome::kDropped);
}

// RFC 9001 §6.4.
TEST_P(OneRttKeysTest, OldKeysAfterNewOnesAreAnError) {
  exchange();
  KeyPeer old;
  make_sender_of_old(old);
  ASSERT_TRUE(client.keys.initiate_update({}, k_start, k_pto));
  ASSERT_TRUE(server.open(client.seal()).key_updated);
  old.next_number = client.next_number;
  const OpenedPacket opened = server.open(old.seal());
  EXPECT_EQ(opened.outcome, Outcome::kError);
  EXPECT_EQ(opened.error, TransportErrorCode::kKeyUpdateError);
}

TEST(OneRttKeys, OldSharedKeysOnAnotherPathAreNoError) {
  KeyPair pair(KeyMode::kShared);
  pair.exchange();
  KeyPeer old;
  old.keys.install_send_secret(pair.client_secret);
  ASSERT_TRUE(pair.client.keys.initiate_update({}, k_start, k_pto));
  ASSERT_TRUE(pair.server.open(pair.client.seal()).key_updated);
  old.next_number[1] = 1000;
  EXPECT_EQ(pair.server.open(old.seal(PathId{1}), k_start, PathId{1}).outcome, Outcome::kOpened);
}

// RFC 9001 §6.2: a packet under old keys acknowledges one under new keys.
TEST_P(OneRttKeysTest, AcknowledgingNewKeysWithOldOnesIsAnError) {
  exchange();
  ASSERT_TRUE(client.keys.initiate_update({}, k_start, k_pto));
  client.seal();
  ASSERT_EQ(client.open(server.seal()).outcome, Outcome::kOpened);  // old phase
  client.keys.on_acknowledged({}, client.next_number[0] - 1, k_start);
  const OpenedPacket opened = client.open(server.seal());
  EXPECT_EQ(opened.outcome, Outcome::kError);
  EXPECT_EQ(opened.error, TransportErrorCode::kKeyUpdateError);
}

TEST_P(OneRttKeysTest, AcknowledgingOldKeysDoesNotConfirmTheUpdate) {
  exchange();
  const PacketNumber before = client.next_number[0];
  client.seal();
  ASSERT_TRUE(client.keys.initiate_update({}, k_start, k_pto));
  client.seal();
  ASSERT_EQ(client.open(server.seal()).outcome, Outcome::kOpened);
  client.keys.on_acknowledged({}, before, k_start);
  EXPECT_EQ(client.open(server.seal()).outcome, Outcome::kOpened);
  EXPECT_FALSE(client.keys.initiate_update({}, k_start + 100 * k_pto, k_pto));
}

TEST(OneRttKeys, AnyPathConfirmsTheUpdateOfSharedKeys) {
  KeyPair pair(KeyMode::kShared);
  pair.exchange();
  ASSERT_TRUE(pair.client.keys.initiate_update({}, k_start, k_pto));
  const PathId other{7};
  ASSERT_TRUE(pair.server.open(pair.client.seal(other), k_start, other).key_updated);
  ASSERT_EQ(pair.client.open(pair.server.seal()).outcome, Outcome::kOpened);
  pair.client.keys.on_acknowledged(other, 0, k_start);
  EXPECT_TRUE(pair.client.keys.initiate_update({}, k_start + 3 * k_pto, k_pto));
}

// RFC 9001 §6.2: the server has sent nothing that could confirm the first update.
TEST_P(OneRttKeysTest, TwoUpdatesWithoutConfirmationAreAnError) {
  exchange();
  ASSERT_TRUE(client.keys.initiate_update({}, k_start, k_pto));
  ASSERT_TRUE(server.open(client.seal()).key_updated);
  // Without receive keys, any acknowledgement counts as a confirmation.
  KeyPeer hasty;
  make_sender_of_old(hasty);
  hasty.keys.confirm_handshake();
  hasty.next_number = client.next_number;
  for (int update = 0; update < 2; ++update) {
    hasty.seal();
    hasty.keys.on_acknowledged({}, hasty.next_number[0] - 1, k_start);
    ASSERT_TRUE(hasty.keys.initiate_update({}, k_start + update * 3 * k_pto, k_pto));
  }
  const OpenedPacket opened = server.open(hasty.seal(), k_start + 3 * k_pto);
  EXPECT_EQ(opened.outcome, Outcome::kError);
  EXPECT_EQ(opened.error, TransportErrorCode::kKeyUpdateError);
}

TEST_P(OneRttKeysTest, AFlippedPhaseBitIsOnlyDropped) {
  exchange();
  std::vector<std::uint8_t> packet = client.seal();
  packet[0] ^= k_key_phase_bit;
  EXPECT_EQ(server.open(packet).outcome, Outcome::kDropped);
  EXPECT_EQ(server.keys.updates(), 0u);
}

TEST(OneRttKeys, WantsAnUpdateAtHalfOfTheConfidentialityLimitOfThePath) {
  KeyPair pair(KeyMode::kPerPath);
  pair.exchange();
  pair.exchange(k_start, PathId{1});
  OneRttKeys& keys = pair.client.keys;
  std::vector<std::uint8_t> packet(64);
  std::vector<SealJob> jobs(256, SealJob{.packet = packet.data(),
                                         .payload_length = 4,
                                         .header_length = 13,
                                         .packet_number_length = 4,
                                         .path = {},
                                         .number = 100});
  const std::uint64_t limit = confidentiality_limit(CipherSuite::kAes128GcmSha256);
  std::uint64_t sealed = 0;
  const auto seal_up_to = [&](std::uint64_t total) {
    for (; sealed < total; sealed += jobs.size()) {
      ASSERT_FALSE(keys.confidentiality_limit_reached({}));
      for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].number = 100 + sealed + i;
      ASSERT_TRUE(keys.seal(jobs));
    }
  };
  seal_up_to(limit / 2 - 1024);
  EXPECT_FALSE(keys.wants_update({}));
  seal_up_to(limit / 2);
  EXPECT_TRUE(keys.wants_update({}));
  seal_up_to(limit - 256);
  EXPECT_TRUE(keys.confidentiality_limit_reached({}));
  EXPECT_FALSE(keys.wants_update(PathId{1}));
  EXPECT_FALSE(keys.confidentiality_limit_reached(PathId{1}));
  ASSERT_TRUE(keys.initiate_update({}, k_start, k_pto));
  EXPECT_FALSE(keys.wants_update({}));
  EXPECT_FALSE(keys.confidentiality_limit_reached({}));
}

}  // namespace
}  // namespace sheaf::quic
