#include "wire/packet_header.h"

#include <gtest/gtest.h>

#include "util/random.h"
#include "wire/hex.h"

namespace sheaf::quic {
namespace {

// RFC 9000 §A.2.
TEST(PacketNumber, EncodesWithEnoughBytes) {
  EXPECT_EQ(packet_number_length(0xac5c02, 0xabe8b3), 2u);
  EXPECT_EQ(packet_number_length(0xace8fe, 0xabe8b3), 3u);
}

TEST(PacketNumber, EncodesTheFirstPackets) {
  EXPECT_EQ(packet_number_length(0, k_no_packet_number), 1u);
  EXPECT_EQ(packet_number_length(127, k_no_packet_number), 1u);
  EXPECT_EQ(packet_number_length(128, k_no_packet_number), 2u);
  EXPECT_EQ(packet_number_length(1u << 31, 0), 4u);
}

// RFC 9000 §A.3.
TEST(PacketNumber, DecodesTheExample) {
  EXPECT_EQ(decode_packet_number(0xa82f30ea, 0x9b32, 2), 0xa82f9b32u);
}

TEST(PacketNumber, DecodesBeforeAnythingWasReceived) {
  EXPECT_EQ(decode_packet_number(k_no_packet_number, 0, 1), 0u);
  EXPECT_EQ(decode_packet_number(k_no_packet_number, 127, 1), 127u);
  EXPECT_EQ(decode_packet_number(k_no_packet_number, 255, 1), 255u);
}

TEST(PacketNumber, DecodesAroundAWindowBoundary) {
  EXPECT_EQ(decode_packet_number(255, 0, 1), 256u);
  EXPECT_EQ(decode_packet_number(256, 255, 1), 255u);
}

TEST(PacketNumber, NeverLeavesTheNumberSpace) {
  EXPECT_LE(decode_packet_number(k_max_varint, 0, 1), k_max_varint);
  EXPECT_LE(decode_packet_number(k_max_varint - 1, 5, 4), k_max_varint);
}

TEST(PacketNumber, SurvivesTruncation) {
  SeededRandom random{11};
  for (int i = 0; i < 100000; ++i) {
    const PacketNumber acknowledged = random.below(std::uint64_t{1} << 50);
    // The sender is ahead of the acknowledged numbers that it knows, and the receiver is between
    // the two.
    const PacketNumber number = acknowledged + 1 + random.below(1u << random.below(28));
    const PacketNumber received = acknowledged + random.below(number - acknowledged);
    const std::size_t length = packet_number_length(number, acknowledged);
    const std::uint64_t truncated = number & ((std::uint64_t{1} << (8 * length)) - 1);
    ASSERT_EQ(decode_packet_number(received, truncated, length), number)
        << "acknowledged " << acknowledged << " received " << received;
  }
}

// RFC 9001 §A.2: the client's Initial header. The rest of the packet is filled with zeros.
std::vector<std::uint8_t> initial_packet() {
  std::vector<std::uint8_t> packet =
      from_hex("c3 00000001 08 8394c8f03e515708 00 00 449e 00000002");
  packet.resize(packet.size() - 4 + 0x49e);
  return packet;
}

TEST(LongHeader, DecodesAnInitial) {
  const std::vector<std::uint8_t> packet = initial_packet();
  const auto header = decode_long_header(packet);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->type, LongPacketType::kInitial);
  EXPECT_EQ(header->version, k_version_1);
  EXPECT_EQ(header->destination, ConnectionId(from_hex("8394c8f03e515708")));
  EXPECT_EQ(header->source.length, 0);
  EXPECT_TRUE(header->token.empty());
  EXPECT_EQ(header->packet_number_offset, 18u);
  EXPECT_EQ(header->packet_length, packet.size());
}

TEST(LongHeader, RefusesEveryTruncation) {
  const std::vector<std::uint8_t> packet = initial_packet();
  for (std::size_t length = 0; length < packet.size(); ++length) {
    EXPECT_FALSE(decode_long_header(Bytes(packet).first(length))) << length;
  }
}

TEST(LongHeader, DecodesTheTypesOfBothVersions) {
  const auto type_of = [](const char* start) {
    std::vector<std::uint8_t> packet = from_hex(start);
    const std::vector<std::uint8_t> rest = from_hex("01 aa 01 bb 04 00000000");
    packet.insert(packet.end(), rest.begin(), rest.end());
    const auto header = decode_long_header(packet);
    return header ? header->type : LongPacketType::kRetry;
  };
  EXPECT_EQ(type_of("d0 00000001"), LongPacketType::kZeroRtt);
  EXPECT_EQ(type_of("e0 00000001"), LongPacketType::kHandshake);
  EXPECT_EQ(type_of("e0 6b3343cf"), LongPacketType::kZeroRtt);
  EXPECT_EQ(type_of("f0 6b3343cf"), LongPacketType::kHandshake);
}

TEST(LongHeader, LeavesRetryAndVersionNegotiationToOthers) {
  EXPECT_FALSE(decode_long_header(from_hex("f0 00000001 01aa 01bb 04 00000000")));
  EXPECT_FALSE(decode_long_header(from_hex("c0 6b3343cf 01aa 01bb 04 00000000")));
  EXPECT_FALSE(decode_long_header(from_hex("c0 00000000 01aa 01bb 00000001")));
  EXPECT_FALSE(decode_long_header(from_hex("c0 ff00001d 01aa 01bb 04 00000000")));
  EXPECT_FALSE(decode_long_header(from_hex("40 00000001 01aa 01bb 04 00000000")));
}

TEST(LongHeader, RefusesLongConnectionIds) {
  std::vector<std::uint8_t> packet = from_hex("d0 00000001 15");
  packet.resize(60);
  EXPECT_FALSE(decode_long_header(packet));
}

TEST(LongHeader, WalksCoalescedPackets) {
  const std::vector<std::uint8_t> datagram =
      from_hex("e0 00000001 01aa 01bb 03 010203 d0 00000001 01aa 01bb 02 0405");
  const auto first = decode_long_header(datagram);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->packet_length, 13u);
  const auto second = decode_long_header(Bytes(datagram).subspan(first->packet_length));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->type, LongPacketType::kZeroRtt);
  EXPECT_EQ(second->packet_length, 12u);
}

}  // namespace
}  // namespace sheaf::quic
