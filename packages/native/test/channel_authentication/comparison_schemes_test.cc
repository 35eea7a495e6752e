#include <gtest/gtest.h>

#include "channel_authentication/channel_world.h"
#include "channel_authentication/packet_signatures.h"
#include "channel_authentication/receiver_tags.h"
#include "channel_authentication/stream_signatures.h"

namespace sheaf::quic {
namespace {

TEST(PacketSignatures, ProveEachPacketAtOnce) {
  SeededRandom random{51};
  const SigningKey key(test_seed(1));
  PacketSigner source(k_test_channel, key);
  PacketSignatureVerifier member(k_test_channel, key.public_key());
  ChannelId other = k_test_channel;
  other[0] ^= 1;
  PacketSignatureVerifier elsewhere(other, key.public_key());
  auto sent = send_packets(source, 0, 5, random, k_auth_start);
  for (auto& packet : sent) {
    EXPECT_EQ(elsewhere.on_packet(packet.received(), k_auth_start), Verdict::kForged);
    EXPECT_EQ(member.on_packet(packet.received(), k_auth_start), Verdict::kProven);
    packet.datagram[random.below(264)] ^= 8;
    EXPECT_EQ(member.on_packet(packet.received(), k_auth_start), Verdict::kForged);
  }
  for (std::size_t length = 0; length < sent[0].datagram.size(); length += 11) {
    TestPacket part = sent[0];
    part.datagram.resize(length);
    EXPECT_EQ(member.on_packet(part.received(), k_auth_start), Verdict::kForged);
  }
  EXPECT_EQ(member.counts().forged_packets, 5u + 24u);
}

TEST(StreamSignatures, ProveWholeStreams) {
  SeededRandom random{52};
  const SigningKey key(test_seed(1));
  StreamSigner source(k_test_channel, key, 4);
  StreamVerifier member(k_test_channel, key.public_key(), 4);
  std::vector<std::uint8_t> content(10'000);
  random.fill(content);
  for (std::uint64_t stream : {3u, 7u, 11u}) {
    for (std::size_t at = 0; at < content.size(); at += 1000) {
      ASSERT_TRUE(source.update(stream, Bytes(content).subspan(at, 1000)));
      ASSERT_TRUE(member.update(stream, Bytes(content).subspan(at, 1000)));
    }
    const std::vector<std::uint8_t> forged{1};
    if (stream == 7) {
      ASSERT_TRUE(member.update(stream, forged));
    }
    std::vector<std::uint8_t> room(100);
    room.resize(source.finish(stream, room));
    const auto frame = std::get<StreamSignatureFrame>(decoded(room));
    EXPECT_EQ(frame.length, 10'000u);
    EXPECT_EQ(member.finish(frame), stream != 7);
    EXPECT_FALSE(member.finish(frame)) << "the stream is forgotten";
  }
}

TEST(StreamSignatures, KeepsABoundedNumberOfStreams) {
  StreamHashes hashes(2);
  const std::vector<std::uint8_t> byte{1};
  EXPECT_TRUE(hashes.update(1, byte));
  EXPECT_TRUE(hashes.update(2, byte));
  EXPECT_FALSE(hashes.update(3, byte));
  std::uint64_t length = 0;
  EXPECT_TRUE(hashes.finish(k_test_channel, 1, length));
  EXPECT_FALSE(hashes.finish(k_test_channel, 1, length));
  EXPECT_TRUE(hashes.update(3, byte));
}

struct TagWorld {
  TagWorld() {
    for (std::uint8_t i = 0; i < 100; ++i) source.add_receiver(i, MacKey{i, 1});
  }
  SeededRandom random{53};
  ReceiverTagger source;
  TagVerifier member{{.receiver = 70, .key = MacKey{70, 1}}, random};
};

TEST(ReceiverTags, ProvePacketsOfEachReceiver) {
  TagWorld world;
  const auto sent = send_packets(world.source, 0, 10, world.random, k_auth_start);
  for (const auto& packet : sent) {
    TestPacket forged = packet;
    forged.datagram[0] ^= 1;
    EXPECT_EQ(world.member.on_packet(forged.received(), k_auth_start), Verdict::kWaiting);
    EXPECT_EQ(world.member.on_packet(packet.received(), k_auth_start), Verdict::kWaiting);
  }
  const auto frames = frames_of(world.source, k_auth_start);
  EXPECT_EQ(frames.size(), 30u) << "100 tags of a packet need three frames";
  give(world.member, frames, k_auth_start);
  EXPECT_EQ(proven_numbers(world.member, sent), numbers_from(0, 10));
  EXPECT_EQ(world.member.counts().forged_packets, 10u);
}

TEST(ReceiverTags, MayComeBeforeTheirPacket) {
  TagWorld world;
  const auto sent = send_packets(world.source, 0, 2, world.random, k_auth_start);
  give(world.member, frames_of(world.source, k_auth_start), k_auth_start);
  TestPacket forged = sent[0];
  forged.datagram[0] ^= 1;
  EXPECT_EQ(world.member.on_packet(forged.received(), k_auth_start), Verdict::kWaiting);
  EXPECT_EQ(world.member.on_packet(sent[0].received(), k_auth_start), Verdict::kProven);
  EXPECT_EQ(world.member.on_packet(sent[1].received(), k_auth_start), Verdict::kProven);
}

TEST(ReceiverTags, OtherReceiversCannotMakeThem) {
  TagWorld world;
  ReceiverTagger forger;
  forger.add_receiver(70, MacKey{71, 1});
  const auto sent = send_packets(forger, 0, 3, world.random, k_auth_start);
  for (const auto& packet : sent) world.member.on_packet(packet.received(), k_auth_start);
  give(world.member, frames_of(forger, k_auth_start), k_auth_start);
  EXPECT_FALSE(world.member.next_proven());
}

TEST(NoAuthentication, TakesEverything) {
  SeededRandom random{54};
  NoAuthenticator source;
  NoVerifier member;
  const auto sent = send_packets(source, 0, 2, random, k_auth_start);
  EXPECT_TRUE(frames_of(source, k_auth_start).empty());
  EXPECT_EQ(member.on_packet(sent[0].received(), k_auth_start), Verdict::kProven);
  EXPECT_FALSE(member.on_frame(DisclosureFrame{}, FrameOrigin::kChannel, k_auth_start));
}

}  // namespace
}  // namespace sheaf::quic
