// Tests the keys of one phase that a node lends, and how it counts the numbers that others use.
#include "crypto/phase_keys.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>

#include "crypto/key_peer.h"
#include "crypto/key_schedule.h"
#include "util/contains.h"

namespace sheaf::quic {
namespace {

using Outcome = OpenedPacket::Outcome;

constexpr PathId k_phased_path{3};

class PhaseKeysTest : public testing::TestWithParam<KeyMode>, protected KeyPair {
 protected:
  PhaseKeysTest() : KeyPair(GetParam()) {}
};

INSTANTIATE_TEST_SUITE_P(KeyModes, PhaseKeysTest,
                         testing::Values(KeyMode::kShared, KeyMode::kPerPath),
                         [](const auto& mode) {
                           return mode.param == KeyMode::kShared ? "Shared" : "PerPath";
                         });

// Whether the object contains any 8 bytes of the secret.
bool contains_part_of(const PhaseKeys& keys, const TrafficSecret& secret) {
  constexpr std::size_t k_part = 8;
  const Bytes object{reinterpret_cast<const std::uint8_t*>(&keys), sizeof keys};
  for (std::size_t at = 0; at + k_part <= secret.length; ++at) {
    if (contains(object, secret.view().subspan(at, k_part))) return true;
  }
  return false;
}

TEST_P(PhaseKeysTest, AreThoseOfThePhaseAndThePathStays) {
  exchange(k_start, k_phased_path);
  const auto lent = server.keys.phase_for_sending(k_phased_path);
  ASSERT_TRUE(lent);
  EXPECT_TRUE(lent->valid());
  EXPECT_EQ(lent->path, k_phased_path);
  EXPECT_EQ(lent->generation, 0u);
  EXPECT_EQ(lent->first_number, 2u);
  exchange(k_start, k_phased_path);

  ASSERT_TRUE(client.keys.initiate_update(k_phased_path, k_start, k_pto));
  exchange(k_start, k_phased_path);
  const auto next = server.keys.phase_for_sending(k_phased_path);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->generation, 1u);
  EXPECT_EQ(next->first_number, 6u);
  EXPECT_EQ(next->key_phase_bit(), server.keys.key_phase_bit(k_phased_path));
  EXPECT_NE(next->packet.key, lent->packet.key);
  EXPECT_NE(next->packet.iv, lent->packet.iv);
  EXPECT_EQ(next->header.key, lent->header.key);
}

TEST_P(PhaseKeysTest, ContainNoSecretOfAnyPhase) {
  TrafficSecret secret =
      mode == KeyMode::kShared ? server_secret : path_secret(server_secret, k_phased_path);
  const PacketKeys receive_keys = derive_packet_keys(
      mode == KeyMode::kShared ? client_secret : path_secret(client_secret, k_phased_path));
  Time now = k_start;
  for (std::uint64_t generation = 0; generation < 4; ++generation) {
    exchange(now, k_phased_path);
    const auto lent = server.keys.phase_for_sending(k_phased_path);
    ASSERT_TRUE(lent);
    ASSERT_EQ(lent->generation, generation);
    const PacketKeys present = derive_packet_keys(secret);
    EXPECT_EQ(lent->packet.key, present.key);
    EXPECT_EQ(lent->packet.iv, present.iv);
    const Bytes object{reinterpret_cast<const std::uint8_t*>(&*lent), sizeof *lent};
    EXPECT_TRUE(contains(object, Bytes(present.key).first(present.key_length)));  // so search works
    for (const TrafficSecret& hidden :
         {server_secret, client_secret, secret, next_generation(secret)}) {
      EXPECT_FALSE(contains_part_of(*lent, hidden));
    }
    const PacketKeys following = derive_packet_keys(next_generation(secret));
    EXPECT_FALSE(contains(object, Bytes(following.key).first(following.key_length)));
    EXPECT_FALSE(contains(object, Bytes(receive_keys.key).first(receive_keys.key_length)));

    now += 4 * k_pto;
    ASSERT_TRUE(server.keys.initiate_update(k_phased_path, now, k_pto));
    secret = next_generation(secret);
  }
}

TEST_P(PhaseKeysTest, AreNotLentBeforeConfirmationNorForAnUnknownPath) {
  KeyPeer early;
  early.keys.set_mode(mode);
  early.keys.install_send_secret(server_secret);
  ASSERT_FALSE(early.seal(k_phased_path).empty());
  EXPECT_FALSE(early.keys.phase_for_sending(k_phased_path));
  early.keys.confirm_handshake();
  EXPECT_TRUE(early.keys.phase_for_sending(k_phased_path));
  early.keys.forget(k_phased_path);
  EXPECT_FALSE(early.keys.phase_for_sending(k_phased_path));
  EXPECT_FALSE(early.keys.note_numbered_elsewhere(k_phased_path, 100, 1));
  EXPECT_FALSE(KeyPeer().keys.phase_for_sending(k_phased_path));
}

TEST_P(PhaseKeysTest, NumbersThatWereGivenAwayAreNeverSealed) {
  exchange(k_start, k_phased_path);
  EXPECT_FALSE(server.keys.note_numbered_elsewhere(k_phased_path, 1, 8));  // 1 was sealed
  EXPECT_FALSE(server.keys.note_numbered_elsewhere(k_phased_path, 2, 0));
  ASSERT_TRUE(server.keys.note_numbered_elsewhere(k_phased_path, 2, 8));
  EXPECT_FALSE(server.keys.note_numbered_elsewhere(k_phased_path, 9, 8));  // 9 was given away
  for (PacketNumber number = 2; number < 10; ++number) {
    server.next_number[k_phased_path.value] = number;
    EXPECT_TRUE(server.seal(k_phased_path).empty()) << number;
  }
  server.next_number[k_phased_path.value] = 10;
  EXPECT_FALSE(server.seal(k_phased_path).empty());
  EXPECT_EQ(server.keys.phase_for_sending(k_phased_path)->first_number, 11u);
  const auto given = server.keys.hand_over(k_phased_path);
  ASSERT_TRUE(given);
  EXPECT_EQ(given->next_number, 11u);
}

// RFC 9001 §6.6: the key has one limit, whoever seals with it.
TEST_P(PhaseKeysTest, PacketsOfOthersCountAgainstTheLimitOfTheKey) {
  const std::uint64_t limit = confidentiality_limit(CipherSuite::kAes128GcmSha256);
  exchange(k_start, k_phased_path);
  PacketNumber next = 2;
  const auto note = [&](std::uint64_t count) {
    ASSERT_TRUE(server.keys.note_numbered_elsewhere(k_phased_path, next, count));
    next += count;
  };
  note(limit / 2 - 3);
  EXPECT_FALSE(server.keys.wants_update(k_phased_path));
  note(1);
  EXPECT_TRUE(server.keys.wants_update(k_phased_path));
  EXPECT_FALSE(server.keys.confidentiality_limit_reached(k_phased_path));
  note(limit / 2 - 256);
  EXPECT_TRUE(server.keys.confidentiality_limit_reached(k_phased_path));

  ASSERT_TRUE(server.keys.initiate_update(k_phased_path, k_start, k_pto));
  EXPECT_FALSE(server.keys.wants_update(k_phased_path));
  EXPECT_FALSE(server.keys.confidentiality_limit_reached(k_phased_path));
}

// RFC 9001 §6.1: an update is confirmed once a packet of the new phase is acknowledged, even when
// all of its packets come from other nodes.
TEST_P(PhaseKeysTest, APacketOfAnotherNodeConfirmsAnUpdate) {
  exchange(k_start, k_phased_path);
  ASSERT_TRUE(server.keys.initiate_update(k_phased_path, k_start, k_pto));
  KeyPeer other;  // has the secret, and so the keys of the new phase
  PathHandOver twin;
  {
    KeyPair same(mode);
    same.exchange(k_start, k_phased_path);
    ASSERT_TRUE(same.server.keys.initiate_update(k_phased_path, k_start, k_pto));
    twin = std::move(*same.server.keys.hand_over(k_phased_path));
  }
  ASSERT_TRUE(other.take_over(std::optional(std::move(twin))));
  ASSERT_TRUE(server.keys.note_numbered_elsewhere(k_phased_path, 2, 8));
  const Time later = k_start + 9 * k_pto;
  EXPECT_FALSE(server.keys.initiate_update(k_phased_path, later, k_pto));

  ASSERT_TRUE(client.open(other.seal(k_phased_path), k_start, k_phased_path).key_updated);
  ASSERT_EQ(server.open(client.seal(k_phased_path), k_start, k_phased_path).outcome,
            Outcome::kOpened);
  server.keys.on_acknowledged(k_phased_path, 1, k_start);  // of the phase before
  EXPECT_FALSE(server.keys.initiate_update(k_phased_path, later, k_pto));
  server.keys.on_acknowledged(k_phased_path, 2, k_start);
  EXPECT_TRUE(server.keys.initiate_update(k_phased_path, later, k_pto));
}

TEST(PhaseKeys, AreWipedWhenDestroyed) {
  const auto memory = std::make_unique<std::array<std::uint8_t, sizeof(PhaseKeys)>>();
  KeyPair pair(KeyMode::kShared);
  auto* lent = new (memory->data()) PhaseKeys(*pair.server.keys.phase_for_sending({}));
  const PacketKeys packet = lent->packet;
  const PacketKeys header = lent->header;
  const auto left = [&](Bytes part) { return contains(*memory, part.first(8)); };
  ASSERT_TRUE(left(packet.key) && left(packet.iv) && left(header.key));
  lent->~PhaseKeys();
  EXPECT_FALSE(left(packet.key) || left(packet.iv) || left(header.key));
}

TEST(PhaseKeys, HaveBounds) {
  KeyPair pair(KeyMode::kShared);
  const PhaseKeys lent = *pair.server.keys.phase_for_sending({});
  const auto spoiled = [&](auto&& change) {
    PhaseKeys keys = lent;
    change(keys);
    return keys.valid();
  };
  EXPECT_TRUE(spoiled([](PhaseKeys&) {}));
  EXPECT_FALSE(spoiled([](PhaseKeys& keys) { keys.suite = CipherSuite{0x1304}; }));
  EXPECT_FALSE(spoiled([](PhaseKeys& keys) { keys.packet.key_length = 32; }));
  EXPECT_FALSE(spoiled([](PhaseKeys& keys) { keys.header.key_length = 0; }));
  EXPECT_FALSE(spoiled([](PhaseKeys& keys) { keys.generation = PhaseKeys::k_limit; }));
  EXPECT_FALSE(spoiled([](PhaseKeys& keys) { keys.first_number = PhaseKeys::k_limit; }));
}

}  // namespace
}  // namespace sheaf::quic
