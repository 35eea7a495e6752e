#include "channel/receiver.h"

#include <gtest/gtest.h>

#include "channel/packet_format.h"
#include "channel/pair.h"
#include "crypto/channel_seal_keys.h"

namespace sheaf::quic {
namespace {

// Seals frames as a member does, who has the key of the group.
std::vector<std::uint8_t> sealed_by_member(const ChannelPair& pair, Bytes frames) {
  ChannelSealKeys keys(pair.source.offer().header,
                       {pair.last_key.sequence, pair.last_key.first, pair.last_key.secret});
  std::vector<std::uint8_t> packet(k_channel_overhead + frames.size());
  Writer out(packet);
  write_channel_header(out, k_test_channel, (pair.last_key.sequence & 1) != 0, pair.last_key.first);
  out.write_bytes(frames);
  const SealJob job{.packet = packet.data(),
                    .payload_length = static_cast<std::uint32_t>(frames.size()),
                    .header_length = k_channel_header_length,
                    .packet_number_length = k_channel_number_length,
                    .path = {},
                    .number = pair.last_key.first};
  EXPECT_TRUE(keys.seal({&job, 1}));
  return packet;
}

TEST(ChannelReceiver, ReadsNothingBeforeItHasTheKey) {
  ChannelPair pair(false, false);
  const auto sent = pair.publish(1000);
  pair.receiver.receive(sent[0], ChannelWay::kGroup, pair.now);
  EXPECT_EQ(pair.receiver.counts().unreadable, 1u);
  pair.give_keys();
  pair.receiver.receive(sent[0], ChannelWay::kGroup, pair.now);
  EXPECT_EQ(pair.receiver.counts().from_group, 1u);
  EXPECT_EQ(pair.receiver.groups().poll_event()->kind, GroupEvent::Kind::kReadable);
}

TEST(ChannelReceiver, DropsWhatIsForgedAndTakesTheRealPacketAfterIt) {
  ChannelPair pair;
  const auto sent = pair.publish(1000);
  for (std::size_t at : {std::size_t{20}, sent[0].size() - 1}) {
    auto forged = sent[0];
    forged[at] ^= 1;
    pair.receiver.receive(forged, ChannelWay::kGroup, pair.now);
  }
  EXPECT_EQ(pair.receiver.counts().from_group, 0u);
  EXPECT_EQ(pair.receiver.counts().forged + pair.receiver.counts().unreadable, 2u);
  EXPECT_EQ(pair.receiver.state(), ListenState::kJoined);
  pair.receiver.receive(sent[0], ChannelWay::kGroup, pair.now);
  EXPECT_EQ(pair.receiver.counts().from_group, 1u);
  EXPECT_EQ(pair.receiver.state(), ListenState::kReceiving);
}

TEST(ChannelReceiver, JunkOfOutsidersChangesNothing) {
  ChannelPair pair;
  const std::vector<std::uint8_t> noise(500, 0x41);
  for (int i = 0; i < 3000; ++i) {
    pair.receiver.receive(noise, ChannelWay::kGroup, pair.now + i * 1ms);
    pair.receiver.on_timeout(pair.now + i * 1ms);
  }
  EXPECT_EQ(pair.receiver.state(), ListenState::kJoined);
  EXPECT_EQ(pair.receiver.counts().pauses, 0u);
}

TEST(ChannelReceiver, PausesTheGroupWhenNothingOfItIsAuthentic) {
  ChannelPair pair;
  const auto sent = pair.publish(5000);
  pair.receiver.receive(sent[0], ChannelWay::kGroup, pair.now);
  pair.say();
  auto forged = sent[1];
  forged.back() ^= 1;
  const Time end = pair.now + 2s;
  for (Time at = pair.now; at < end; at += 250ms) {
    pair.receiver.receive(forged, ChannelWay::kGroup, at);
  }
  pair.receiver.on_timeout(end);
  EXPECT_EQ(pair.receiver.counts().pauses, 0u);
  pair.say();
  pair.receiver.receive(forged, ChannelWay::kGroup, end);
  EXPECT_EQ(pair.receiver.counts().pauses, 1u);
  EXPECT_EQ(pair.receiver.state(), ListenState::kUnicast);
  EXPECT_FALSE(pair.receiver.wants_group(end));
  pair.receiver.receive(sent[1], ChannelWay::kGroup, end + 9s);
  EXPECT_EQ(pair.receiver.state(), ListenState::kUnicast);
  EXPECT_LE(pair.receiver.next_timeout(), end + 10s);
  pair.receiver.on_timeout(end + 10s);
  EXPECT_TRUE(pair.receiver.wants_group(end + 10s));
  pair.receiver.poll_report(end + 10s);
  EXPECT_GT(pair.receiver.next_timeout(), end + 10s);
  pair.receiver.receive(sent[1], ChannelWay::kGroup, end + 10s);
  EXPECT_EQ(pair.receiver.state(), ListenState::kReceiving);
}

// The tree is cut before the proof of many packets came.
TEST(ChannelReceiver, DoesNotPauseAGroupThatFellSilent) {
  ChannelPair pair;
  const auto sent = pair.publish(5000);
  auto forged = sent[1];
  forged.back() ^= 1;
  for (int i = 0; i < 20; ++i) pair.receiver.receive(forged, ChannelWay::kGroup, pair.now);
  pair.receiver.on_timeout(pair.now + 5s);
  EXPECT_TRUE(pair.receiver.wants_group(pair.now + 5s));
  pair.receiver.receive(forged, ChannelWay::kGroup, pair.now + 5s);
  EXPECT_EQ(pair.receiver.counts().pauses, 0u);
  pair.receiver.receive(sent[0], ChannelWay::kGroup, pair.now + 5s);
  EXPECT_EQ(pair.receiver.state(), ListenState::kReceiving);
}

// Keeps one packet, which is proven when the test says so.
struct HoldingVerifier final : Verifier {
  Verdict on_packet(const ReceivedPacket& packet, Time) override {
    held = {packet.number, packet.key_sequence, bytes, packet.by_group};
    bytes.assign(packet.datagram.begin(), packet.datagram.end());
    return Verdict::kWaiting;
  }
  bool on_frame(const IntegrityFrame&, FrameOrigin, Time) override { return false; }
  std::optional<ProvenPacket> next_proven() override {
    if (!std::exchange(proven, false)) return std::nullopt;
    held.sealed = bytes;
    return held;
  }
  ProvenPacket held;
  std::vector<std::uint8_t> bytes;
  bool proven = false;
};

TEST(ChannelReceiver, WhatIsProvenInAPauseDoesNotEndIt) {
  NoAuthenticator authenticator;
  HoldingVerifier verifier;
  ChannelPair pair(authenticator, verifier);
  const auto sent = pair.publish(5000);
  for (int i = 0; i <= 8; ++i) {
    pair.receiver.receive(sent[0], ChannelWay::kGroup, pair.now + i * 250ms);
  }
  const Time end = pair.now + 2s;
  ASSERT_EQ(pair.receiver.counts().pauses, 1u);
  verifier.proven = true;
  pair.receiver.on_timeout(end + 10ms);
  EXPECT_EQ(pair.receiver.counts().from_group, 1u);
  EXPECT_EQ(pair.receiver.state(), ListenState::kJoined);
  pair.receiver.on_timeout(end + 10s);
  pair.receiver.receive(sent[1], ChannelWay::kGroup, end + 10s);
  verifier.proven = true;
  pair.receiver.on_timeout(end + 10s);
  EXPECT_EQ(pair.receiver.state(), ListenState::kReceiving);
}

TEST(ChannelReceiver, PausesAboveAShareOfForgedPacketsOfTheGroupAlone) {
  for (const ChannelWay way : {ChannelWay::kUnicast, ChannelWay::kGroup}) {
    ChannelPair pair;
    auto forged = pair.publish(1000)[0];
    forged.back() ^= 1;
    for (int i = 0; i < 1000; ++i) pair.receiver.receive(forged, way, pair.now);
    EXPECT_EQ(pair.receiver.counts().pauses, 0u);
    pair.receiver.receive(forged, way, pair.now);
    EXPECT_EQ(pair.receiver.counts().pauses, way == ChannelWay::kGroup ? 1u : 0u);
    EXPECT_EQ(pair.receiver.state(), ListenState::kJoined);
  }
}

TEST(ChannelReceiver, KeysThatHaveNoPlaceYetWait) {
  ChannelPair pair;
  const ChannelKey first = pair.last_key;
  ChannelKey key = first;
  for (std::uint64_t i = 1; i <= 5; ++i) {
    key.sequence = i;
    key.first = 100 * i;
    pair.receiver.on_key(key, pair.now);
  }
  ChannelKey other = key;
  other.channel[0] ^= 1;
  other.sequence = 9;
  other.first = 0;  // would be a violation
  pair.receiver.on_key(other, pair.now);
  EXPECT_EQ(pair.receiver.state(), ListenState::kJoined);
  // Packets under later keys make room, one after another.
  const std::uint8_t ping[] = {1, 0, 0, 0};
  for (const std::uint64_t sequence : {1, 2, 3, 4, 5}) {
    pair.last_key = first;
    pair.last_key.sequence = sequence;
    pair.last_key.first = 100 * sequence;
    pair.receiver.receive(sealed_by_member(pair, ping), ChannelWay::kGroup, pair.now);
    EXPECT_EQ(pair.receiver.counts().from_group, sequence);
  }
}

TEST(ChannelReceiver, SeesTheGroupByPacketsThatItHasAlready) {
  ChannelPair pair;
  const auto sent = pair.publish(3000);
  for (const auto& packet : sent) pair.receiver.receive(packet, ChannelWay::kUnicast, pair.now);
  auto forged = sent[1];
  forged.back() ^= 1;
  pair.receiver.receive(forged, ChannelWay::kGroup, pair.now);
  EXPECT_EQ(pair.receiver.state(), ListenState::kJoined);
  pair.receiver.receive(sent[1], ChannelWay::kGroup, pair.now);
  EXPECT_EQ(pair.receiver.counts().duplicates, 2u);
  const auto state = pair.receiver.poll_state();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->state, ListenState::kReceiving);
  EXPECT_EQ(state->number, 1u);
}

// Anyone can send again what the group brought.
TEST(ChannelReceiver, PacketsThatAreSentAgainDoNotShowThatTheGroupIsThere) {
  ChannelPair pair;
  const auto packets = pair.publish(4000);
  for (const auto& packet : packets) pair.receiver.receive(packet, ChannelWay::kGroup, pair.now);
  ASSERT_EQ(pair.receiver.state(), ListenState::kReceiving);
  for (int i = 0; i < 20; ++i) {
    pair.now += 50ms;
    for (const auto& packet : packets) pair.receiver.receive(packet, ChannelWay::kGroup, pair.now);
    pair.receiver.on_timeout(pair.now);
  }
  EXPECT_EQ(pair.receiver.state(), ListenState::kUnicast);
}

TEST(ChannelReceiver, GoesToUnicastWhenTheGroupIsSilent) {
  ChannelPair pair;
  const auto sent = pair.publish(3000);
  pair.receiver.receive(sent[0], ChannelWay::kGroup, pair.now);
  pair.say();
  pair.receiver.on_timeout(pair.now + 299ms);
  EXPECT_EQ(pair.receiver.state(), ListenState::kReceiving);
  pair.receiver.on_timeout(pair.now + 300ms);
  const auto state = pair.receiver.poll_state();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->state, ListenState::kUnicast);
  EXPECT_EQ(state->number, 1u);
}

TEST(ChannelReceiver, FramesThatNoSourceSendsCostTheChannelOnlyIfTheSourceSentThem) {
  const std::uint8_t frames[] = {0x10, 0x44, 0, 0};  // MAX_DATA and two PADDINGs
  for (const bool proven : {false, true}) {
    ChannelPair pair(proven);
    pair.receiver.receive(sealed_by_member(pair, frames), ChannelWay::kGroup, pair.now);
    EXPECT_EQ(pair.receiver.counts().malformed, 1u);
    EXPECT_EQ(pair.receiver.state() == ListenState::kLeft, proven);
  }
}

TEST(ChannelReceiver, ReportsWhatItMisses) {
  ChannelPair pair;
  const auto sent = pair.publish(8000);
  ASSERT_GE(sent.size(), 6u);
  for (const std::size_t number : {0, 1, 4}) {
    pair.receiver.receive(sent[number], ChannelWay::kGroup, pair.now);
  }
  EXPECT_EQ(pair.receiver.counts().lost, 2u);
  // Half an interval at least, and a random part of a quarter
  const auto report = pair.receiver.poll_report(pair.now + 75ms);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->end, 5u);
  ASSERT_EQ(report->missing.size(), 1u);
  EXPECT_EQ(report->missing.view()[0], (Interval{2, 4}));
  EXPECT_FALSE(pair.receiver.poll_report(pair.now + 76ms));
  EXPECT_TRUE(pair.receiver.poll_report(pair.now + 175ms));
  pair.receiver.on_timeout(pair.now + 350ms);
  EXPECT_EQ(pair.receiver.counts().expired, 2u);
}

TEST(ChannelReceiver, NoiseIsCountedAndNothingElse) {
  constexpr std::uint64_t k_seed = 12;
  SCOPED_TRACE("seed " + std::to_string(k_seed));
  SeededRandom random(k_seed);
  ChannelPair pair;
  const auto sent = pair.publish(8000);
  for (int round = 0; round < 900; ++round) {
    auto packet = sent[random.below(sent.size())];
    packet[random.below(packet.size())] ^= static_cast<std::uint8_t>(1 + random.below(255));
    packet.resize(random.below(packet.size() + 1));
    pair.receiver.receive(packet, ChannelWay::kUnicast, pair.now);
  }
  const ReceiverCounts& counts = pair.receiver.counts();
  EXPECT_EQ(counts.from_group, 0u);
  EXPECT_EQ(counts.forged + counts.unreadable, 900u);
}

}  // namespace
}  // namespace sheaf::quic
