// Tests the keys of single paths: which node has them, how they are updated, and how another node
// gets them.
#include <gtest/gtest.h>

#include "crypto/key_peer.h"

namespace sheaf::quic {
namespace {

using Outcome = OpenedPacket::Outcome;

constexpr PathId k_path{3};
constexpr PathId k_other{4};

class PathHandOverTest : public testing::TestWithParam<KeyMode>, protected KeyPair {
 protected:
  PathHandOverTest() : KeyPair(GetParam()) {}
  KeyPeer backend;
};

INSTANTIATE_TEST_SUITE_P(KeyModes, PathHandOverTest,
                         testing::Values(KeyMode::kShared, KeyMode::kPerPath),
                         [](const auto& mode) {
                           return mode.param == KeyMode::kShared ? "Shared" : "PerPath";
                         });

// Computed with Python's cryptography (HKDFExpand, AESGCM, AES in ECB mode for the header) from the
// secret 00 01 … 1f: path 0x01020304, number 5 in the first key phase, number 6 in the second.
TEST(PathKeys, PacketsAreThoseOfAnIndependentComputation) {
  std::vector<std::uint8_t> counting(32);
  for (std::size_t i = 0; i < counting.size(); ++i) counting[i] = static_cast<std::uint8_t>(i);
  KeyPeer node;
  node.keys.set_mode(KeyMode::kPerPath);
  node.keys.install_send_secret(make_secret(CipherSuite::kAes128GcmSha256, counting));
  node.keys.confirm_handshake();
  const PathId path{0x01020304};
  node.next_number[path.value] = 5;
  EXPECT_EQ(node.seal(path), from_hex("49cccccccccccccccc984e016835253a6ab062403be4198bcf0896b871bd"
                                      "bbcafa8060e6bfe7b822c3fc8324b976c181ac"));
  KeyPeer update;  // its own peer, which acknowledges
  const auto given = node.keys.hand_over(path);
  ASSERT_TRUE(given);
  EXPECT_EQ(given->next_number, 6u);
  PathHandOver mirrored;
  mirrored.path = path;
  mirrored.send = given->send;
  mirrored.receive = given->send;
  ASSERT_TRUE(update.take_over(std::optional(std::move(mirrored))));
  update.next_number[path.value] = 0;
  const std::vector<std::uint8_t> own = update.seal(path);
  ASSERT_EQ(update.open(own, k_start, path).outcome, Outcome::kOpened);
  update.keys.on_acknowledged(path, 0, k_start);
  ASSERT_TRUE(update.keys.initiate_update(path, k_start, k_pto));
  update.next_number[path.value] = 6;
  EXPECT_EQ(update.seal(path), from_hex("4dccccccccccccccccec2aff868eeaaf567e57568daffdd9605d7a4472"
                                        "0841734b0ba80222cfee652c39172e81853df4e9"));
}

TEST_P(PathHandOverTest, TheNewHolderTakesPartAndTheOldOneNoLonger) {
  exchange(k_start, k_path);
  ASSERT_TRUE(backend.take_over(server.keys.hand_over(k_path)));
  EXPECT_EQ(backend.next_number[k_path.value], 2u);
  exchange(backend, k_start, k_path);

  EXPECT_FALSE(server.keys.can_send(k_path));
  EXPECT_FALSE(server.keys.can_receive(k_path));
  EXPECT_TRUE(server.seal(k_path).empty());
  EXPECT_EQ(server.open(client.seal(k_path), k_start, k_path).outcome, Outcome::kDropped);
  EXPECT_FALSE(server.keys.initiate_update(k_path, k_start, k_pto));
  EXPECT_FALSE(server.keys.hand_over(k_path));
  exchange(k_start, k_other);
}

TEST_P(PathHandOverTest, TheNewHolderKnowsNoOtherPath) {
  ASSERT_TRUE(backend.take_over(server.keys.hand_over(k_path)));
  EXPECT_FALSE(backend.keys.can_send(k_other));
  EXPECT_FALSE(backend.keys.can_receive(k_other));
  EXPECT_TRUE(backend.seal(k_other).empty());
  EXPECT_EQ(backend.open(client.seal(k_other), k_start, k_other).outcome, Outcome::kDropped);
  EXPECT_FALSE(backend.keys.hand_over(k_other));
  backend.keys.forget(k_path);
  EXPECT_TRUE(backend.seal(k_path).empty());
}

// Emulates a backend that obeys no rule: it has the bytes of the secrets.
TEST_P(PathHandOverTest, SecretsOfOnePathOpenAnotherPathOnlyWhenShared) {
  const auto given = server.keys.hand_over(k_path);
  ASSERT_TRUE(given);
  PathHandOver forged;
  forged.mode = given->mode;
  forged.path = k_other;
  forged.send = given->send;
  forged.receive = given->receive;
  ASSERT_TRUE(backend.keys.take_over(forged));
  const bool shared = mode == KeyMode::kShared;
  EXPECT_EQ(backend.open(client.seal(k_other), k_start, k_other).outcome,
            shared ? Outcome::kOpened : Outcome::kDropped);
  EXPECT_EQ(client.open(backend.seal(k_other), k_start, k_other).outcome,
            shared ? Outcome::kOpened : Outcome::kDropped);
  // Deriving path secrets from this secret does not work either.
  KeyPeer root;
  root.keys.set_mode(KeyMode::kPerPath);
  root.keys.install_receive_secret(given->receive->secret);
  EXPECT_EQ(root.open(client.seal(k_other), k_start, k_other).outcome, Outcome::kDropped);
}

TEST(PathKeys, HeaderProtectionIsThatOfThePath) {
  KeyPair pair(KeyMode::kPerPath);
  const auto first = pair.server.keys.hand_over(k_path);
  const auto second = pair.server.keys.hand_over(k_other);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->send->header_key.key, second->send->header_key.key);
  EXPECT_NE(first->receive->header_key.key, second->receive->header_key.key);
  EXPECT_NE(first->send->header_key.key, first->receive->header_key.key);
  KeyPair shared(KeyMode::kShared);
  EXPECT_EQ(shared.server.keys.hand_over(k_path)->send->header_key.key,
            shared.server.keys.hand_over(k_other)->send->header_key.key);
}

TEST_P(PathHandOverTest, TheNewHolderUpdatesKeysInTurnWithTheClient) {
  exchange(k_start, k_path);
  ASSERT_TRUE(backend.take_over(server.keys.hand_over(k_path)));
  exchange(backend, k_start, k_path);
  Time now = k_start;
  for (std::uint64_t update = 1; update <= 4; ++update) {
    now += 4 * k_pto;
    KeyPeer& initiator = update % 2 == 1 ? backend : client;
    ASSERT_TRUE(initiator.keys.initiate_update(k_path, now, k_pto)) << update;
    exchange(backend, now, k_path);
    EXPECT_EQ(client.keys.updates(), update);
    EXPECT_EQ(backend.keys.updates(), update);
  }
}

TEST_P(PathHandOverTest, KeysGoOnAfterUpdatesAndInTheMiddleOfOne) {
  exchange(k_start, k_path);
  ASSERT_TRUE(server.keys.initiate_update(k_path, k_start, k_pto));
  exchange(k_start, k_path);
  Time now = k_start + 4 * k_pto;
  exchange(now, k_path);
  // The client has updated again and nobody has seen it; the new holder of the path follows.
  ASSERT_TRUE(client.keys.initiate_update(k_path, now, k_pto));
  ASSERT_TRUE(backend.take_over(server.keys.hand_over(k_path)));
  const OpenedPacket opened = backend.open(client.seal(k_path), now, k_path);
  EXPECT_EQ(opened.outcome, Outcome::kOpened);
  EXPECT_TRUE(opened.key_updated);
  exchange(backend, now, k_path);
  // The old holder has begun an update that the client has not seen.
  now += 4 * k_pto;
  exchange(backend, now, k_path);
  ASSERT_TRUE(backend.keys.initiate_update(k_path, now, k_pto));
  if (mode == KeyMode::kShared) return;  // a backend hands shared keys to nobody
  KeyPeer next;
  ASSERT_TRUE(next.take_over(backend.keys.hand_over(k_path)));
  exchange(next, now, k_path);
  EXPECT_EQ(client.keys.updates(), 3u);
}

TEST(PathKeys, PathsUpdateOneByOne) {
  KeyPair pair(KeyMode::kPerPath);
  pair.exchange(k_start, k_path);
  pair.exchange(k_start, k_other);
  ASSERT_TRUE(pair.client.keys.initiate_update(k_path, k_start, k_pto));
  EXPECT_EQ(pair.client.keys.key_phase_bit(k_path), k_key_phase_bit);
  EXPECT_EQ(pair.client.keys.key_phase_bit(k_other), 0);
  // Updates of different paths do not wait for each other.
  ASSERT_TRUE(pair.client.keys.initiate_update(k_other, k_start, k_pto));
  pair.exchange(k_start, k_other);
  EXPECT_EQ(pair.server.keys.key_phase_bit(k_path), 0);
  EXPECT_EQ(pair.server.keys.key_phase_bit(k_other), k_key_phase_bit);
  pair.exchange(k_start, k_path);
  EXPECT_EQ(pair.client.keys.updates(), 2u);
}

// RFC 10069 §2.3 lets acknowledgements travel on any path. One on another path is no error, but
// another node may have written it.
TEST(PathKeys, OnlyAnAcknowledgementOnThePathConfirmsItsUpdate) {
  KeyPair pair(KeyMode::kPerPath);
  pair.exchange(k_start, k_path);
  pair.exchange(k_start, k_other);
  ASSERT_TRUE(pair.client.keys.initiate_update(k_path, k_start, k_pto));
  ASSERT_TRUE(pair.server.open(pair.client.seal(k_path), k_start, k_path).key_updated);
  ASSERT_EQ(pair.client.open(pair.server.seal(k_other), k_start, k_other).outcome,
            Outcome::kOpened);
  pair.client.keys.on_acknowledged(k_path, pair.client.next_number[k_path.value] - 1, k_start);
  EXPECT_FALSE(pair.client.keys.initiate_update(k_path, k_start + 9 * k_pto, k_pto));
  ASSERT_EQ(pair.client.open(pair.server.seal(k_path), k_start, k_path).outcome, Outcome::kOpened);
  pair.client.keys.on_acknowledged(k_path, pair.client.next_number[k_path.value] - 1, k_start);
  EXPECT_TRUE(pair.client.keys.initiate_update(k_path, k_start + 9 * k_pto, k_pto));
}

// Two backends and the primary have the same keys. A node that receives packets of a new phase
// follows the update by itself.
TEST(SharedKeys, AnUpdateByOneBackendReachesTheOthersThroughTheClient) {
  KeyPair pair(KeyMode::kShared);
  KeyPeer first, second;
  ASSERT_TRUE(first.take_over(pair.server.keys.hand_over(k_path)));
  ASSERT_TRUE(second.take_over(pair.server.keys.hand_over(k_other)));
  Time now = k_start;
  for (std::uint64_t update = 1; update <= 3; ++update) {
    pair.exchange(first, now, k_path);
    pair.exchange(second, now, k_other);
    pair.exchange(pair.server, now, {});
    now += 4 * k_pto;
    ASSERT_TRUE(first.keys.initiate_update(k_path, now, k_pto)) << update;
    const std::vector<std::uint8_t> late = second.seal(k_other);
    ASSERT_TRUE(pair.client.open(first.seal(k_path), now, k_path).key_updated);
    EXPECT_EQ(pair.client.open(late, now, k_other).outcome, Outcome::kOpened);
    pair.exchange(first, now, k_path);
    pair.exchange(second, now, k_other);
    pair.exchange(pair.server, now, {});
    for (KeyPeer* node : {&first, &second, &pair.server, &pair.client}) {
      EXPECT_EQ(node->keys.updates(), update);
    }
  }
}

TEST(SharedKeys, ABackendThatGetsASecondPathGoesOnInTheLaterPhase) {
  KeyPair pair(KeyMode::kShared);
  pair.exchange();
  KeyPeer backend;
  ASSERT_TRUE(backend.take_over(pair.server.keys.hand_over(k_path)));
  ASSERT_TRUE(pair.server.keys.initiate_update({}, k_start, k_pto));
  pair.exchange(k_start, k_other);
  ASSERT_TRUE(backend.take_over(pair.server.keys.hand_over(k_other)));
  EXPECT_EQ(backend.keys.key_phase_bit(k_other), k_key_phase_bit);
  pair.exchange(backend, k_start, k_other);
  pair.exchange(backend, k_start, k_path);
}

TEST(SharedKeys, ANodeThatHasHeardNothingFindsALaterPhase) {
  for (const int updates : {0, 1, 2, 3, 8, 9}) {
    KeyPair pair(KeyMode::kShared);
    pair.exchange();
    const std::optional<PathHandOver> given = pair.server.keys.hand_over(PathId{1});
    Time now = k_start;
    for (int i = 0; i < updates; ++i) {
      pair.exchange(now);
      now += 10 * k_pto;
      ASSERT_TRUE(pair.client.keys.initiate_update(PathId{0}, now, k_pto)) << i;
      pair.exchange(now);
      now += 10 * k_pto;
    }
    KeyPeer backend;
    ASSERT_TRUE(backend.take_over(given));
    std::vector<std::uint8_t> forged = pair.client.seal(PathId{1});
    forged.back() ^= 1;
    EXPECT_EQ(backend.open(forged, now, PathId{1}).outcome, OpenedPacket::Outcome::kDropped);
    const OpenedPacket opened = backend.open(pair.client.seal(PathId{1}), now, PathId{1});
    if (updates == 9) {
      EXPECT_EQ(opened.outcome, OpenedPacket::Outcome::kDropped) << "too many";
      continue;
    }
    ASSERT_EQ(opened.outcome, OpenedPacket::Outcome::kOpened) << updates;
    EXPECT_EQ(opened.key_updated, updates > 0);
    pair.exchange(backend, now, PathId{1});
  }
}

// RFC 9001 §6.5: both nodes wait for three of their own probe timeouts.
TEST(PathKeys, APeerWithAShorterProbeTimeoutUpdatesAgainBeforeOldKeysAreGone) {
  KeyPair pair(KeyMode::kPerPath);
  Time now = k_start;
  pair.exchange(now);
  KeyPeer& client = pair.client;
  for (int i = 0; i < 4; ++i) {
    now += k_pto / 2;
    ASSERT_TRUE(client.keys.initiate_update(PathId{0}, now, k_pto / 10)) << i;
    EXPECT_TRUE(pair.server.open(client.seal(), now).key_updated) << i;
    std::vector<std::uint8_t> answer = pair.server.seal();
    const OpenedPacket opened = client.keys.open(answer, k_packet_number_offset, PathId{0},
                                                 client.largest_received[0], now);
    ASSERT_EQ(opened.outcome, OpenedPacket::Outcome::kOpened);
    if (opened.began_phase) client.keys.keep_old_keys(PathId{0}, now, k_pto / 10);
    client.keys.on_acknowledged(PathId{0}, client.next_number[0] - 1, now);
  }
}

TEST(SharedKeys, TheLimitsOfTheAeadAreSharedOut) {
  KeyPair pair(KeyMode::kShared);
  std::uint32_t given = 0;
  KeyPeer backend;
  for (PathId path{1}; path.value < 100; ++path.value) {
    const auto state = pair.server.keys.hand_over(path);
    if (!state) continue;
    ++given;
    if (path.value == 1) {
      ASSERT_TRUE(backend.take_over(state));
    }
  }
  EXPECT_EQ(given, 32u);
  EXPECT_TRUE(pair.server.keys.can_send(PathId{99}));  // kept, since it was not handed over
  for (std::uint64_t sealed = 0;
       sealed < confidentiality_limit(CipherSuite::kAes128GcmSha256) / 64 / 2; ++sealed) {
    ASSERT_FALSE(backend.keys.wants_update(PathId{1}));
    ASSERT_FALSE(backend.seal(PathId{1}, 4).empty());
  }
  EXPECT_TRUE(backend.keys.wants_update(PathId{1}));
}

TEST(PathKeys, TheNewHolderCountsOnWithTheLimits) {
  KeyPair pair(KeyMode::kPerPath);
  for (int i = 0; i < 10; ++i) pair.server.seal(k_path);
  std::vector<std::uint8_t> garbage(60);
  for (int i = 0; i < 3; ++i) pair.server.open(garbage, k_start, k_path);
  const auto given = pair.server.keys.hand_over(k_path);
  ASSERT_TRUE(given);
  EXPECT_EQ(given->sealed, 10u);
  EXPECT_EQ(given->forged, 3u);
  EXPECT_EQ(given->next_number, 10u);
  PathHandOver used;
  used.path = k_path;
  used.send = given->send;
  used.next_number = 10;
  used.sealed = confidentiality_limit(CipherSuite::kAes128GcmSha256) / 2;
  KeyPeer backend;
  ASSERT_TRUE(backend.keys.take_over(used));
  EXPECT_TRUE(backend.keys.wants_update(k_path));
}

TEST_P(PathHandOverTest, FlippedKeyPhaseBitsAreDropped) {
  exchange(k_start, k_path);
  ASSERT_TRUE(backend.take_over(server.keys.hand_over(k_path)));
  for (int i = 0; i < 100; ++i) {
    std::vector<std::uint8_t> packet = client.seal(k_path);
    packet[0] ^= k_key_phase_bit;
    EXPECT_EQ(backend.open(packet, k_start, k_path).outcome, Outcome::kDropped);
    packet = backend.seal(k_path);
    packet[0] ^= k_key_phase_bit;
    EXPECT_EQ(client.open(packet, k_start, k_path).outcome, Outcome::kDropped);
  }
  EXPECT_EQ(backend.keys.updates() + client.keys.updates(), 0u);
  exchange(backend, k_start, k_path);
}

TEST_P(PathHandOverTest, ReorderedPacketsOpenAroundAnUpdate) {
  ASSERT_TRUE(backend.take_over(server.keys.hand_over(k_path)));
  exchange(backend, k_start, k_path);
  std::vector<std::vector<std::uint8_t>> packets;
  for (int i = 0; i < 8; ++i) packets.push_back(client.seal(k_path));
  ASSERT_TRUE(client.keys.initiate_update(k_path, k_start, k_pto));
  for (int i = 0; i < 8; ++i) packets.push_back(client.seal(k_path));
  // New and old packets in turn, from the last to the first of each.
  for (std::size_t i = 8; i-- > 0;) {
    EXPECT_EQ(backend.open(packets[8 + i], k_start, k_path).outcome, Outcome::kOpened) << i;
    EXPECT_EQ(backend.open(packets[i], k_start, k_path).outcome, Outcome::kOpened) << i;
  }
  EXPECT_EQ(backend.keys.updates(), 1u);
  EXPECT_EQ(backend.open(packets[0], k_start + 3 * k_pto, k_path).outcome, Outcome::kDropped);
}

TEST_P(PathHandOverTest, NumbersThatWereSealedAreNotSealedAgain) {
  ASSERT_FALSE(server.seal(k_path).empty());
  ASSERT_FALSE(server.seal(k_path).empty());
  --server.next_number[k_path.value];
  EXPECT_TRUE(server.seal(k_path).empty());
  ASSERT_TRUE(backend.take_over(server.keys.hand_over(k_path)));
  backend.next_number[k_path.value] = 1;
  EXPECT_TRUE(backend.seal(k_path).empty());
  backend.next_number[k_path.value] = 2;
  EXPECT_FALSE(backend.seal(k_path).empty());

  // A batch that is out of order, or of two paths, is left untouched.
  std::vector<std::uint8_t> packets(200, 7);
  const std::vector<std::uint8_t> before = packets;
  SealJob jobs[2];
  for (std::size_t i = 0; i < 2; ++i) {
    jobs[i] = {.packet = packets.data() + 100 * i,
               .payload_length = 50,
               .header_length = 13,
               .packet_number_length = 4,
               .path = PathId{9},
               .number = 1 - i};
  }
  EXPECT_FALSE(server.keys.seal(jobs));
  std::swap(jobs[0].number, jobs[1].number);
  jobs[1].path = PathId{10};
  EXPECT_FALSE(server.keys.seal(jobs));
  EXPECT_EQ(packets, before);
  jobs[1].path = PathId{9};
  EXPECT_TRUE(server.keys.seal(jobs));
  EXPECT_NE(packets, before);
}

TEST_P(PathHandOverTest, ANodeTakesAPathOnlyOnce) {
  const auto given = server.keys.hand_over(k_path);
  ASSERT_TRUE(given);
  EXPECT_FALSE(server.keys.take_over(*given));  // it has the secrets
  ASSERT_TRUE(backend.keys.take_over(*given));
  EXPECT_FALSE(backend.keys.take_over(*given));
  backend.keys.forget(k_path);
  EXPECT_FALSE(backend.keys.take_over(*given));
  EXPECT_FALSE(backend.keys.can_send(k_path));
}

TEST_P(PathHandOverTest, NothingIsHandedOverBeforeTheHandshakeIsConfirmed) {
  KeyPeer early;
  early.keys.set_mode(mode);
  early.keys.install_send_secret(server_secret);
  early.keys.install_receive_secret(client_secret);
  EXPECT_FALSE(early.keys.hand_over(k_path));
  early.keys.confirm_handshake();
  EXPECT_TRUE(early.keys.hand_over(k_path));
}

TEST_P(PathHandOverTest, WhatNoNodeGivesIsRefused) {
  const auto spoiled = [&](auto change) {
    KeyPair fresh(mode);
    auto state = fresh.server.keys.hand_over(k_path);
    change(*state);
    KeyPeer taker;
    return taker.keys.take_over(*state);
  };
  EXPECT_TRUE(spoiled([](PathHandOver&) {}));
  EXPECT_TRUE(spoiled([](PathHandOver& state) { state.send.reset(); }));
  EXPECT_FALSE(spoiled([](PathHandOver& state) {
    state.send.reset();
    state.receive.reset();
  }));
  EXPECT_FALSE(spoiled([](PathHandOver& state) { state.send->secret.length = 31; }));
  EXPECT_FALSE(spoiled([](PathHandOver& state) { state.send->secret.length = 255; }));
  EXPECT_FALSE(spoiled([](PathHandOver& state) { state.receive->header_key.key_length = 64; }));
  EXPECT_FALSE(spoiled([](PathHandOver& state) { state.send->secret.version = 7; }));
  EXPECT_FALSE(spoiled(
      [](PathHandOver& state) { state.send->secret.suite = static_cast<CipherSuite>(0x1304); }));
  EXPECT_FALSE(spoiled([](PathHandOver& state) {
    state.send->secret.suite = CipherSuite::kChacha20Poly1305Sha256;
    state.send->header_key.key_length = 32;
  }));
  EXPECT_FALSE(spoiled([](PathHandOver& state) { state.next_number = std::uint64_t{1} << 62; }));
  EXPECT_FALSE(spoiled([](PathHandOver& state) { state.sealed = (1 << 23) + 1; }));
  EXPECT_FALSE(spoiled([](PathHandOver& state) { state.send->generation = UINT64_MAX; }));

  // Keys of the other mode, or in shared mode keys of another connection, are refused.
  ASSERT_TRUE(backend.take_over(server.keys.hand_over(k_path)));
  KeyPair other(mode == KeyMode::kShared ? KeyMode::kPerPath : KeyMode::kShared);
  EXPECT_FALSE(backend.take_over(other.server.keys.hand_over(k_other)));
  if (mode == KeyMode::kPerPath) return;
  auto foreign = server.keys.hand_over(k_other);
  foreign->send->header_key.key[0] ^= 1;
  EXPECT_FALSE(backend.take_over(foreign));
}

}  // namespace
}  // namespace sheaf::quic
