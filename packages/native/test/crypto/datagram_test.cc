#include "crypto/datagram.h"

#include <gtest/gtest.h>

#include "crypto/handshake_world.h"

namespace sheaf::quic {
namespace {

// Makes a long header packet of version 1 with an 8-byte destination and `length` bytes after the
// header.
std::vector<std::uint8_t> long_packet(std::uint8_t type, std::uint8_t length) {
  std::vector<std::uint8_t> packet{static_cast<std::uint8_t>(0xc0 | type << 4), 0, 0, 0, 1, 8};
  packet.insert(packet.end(), 8, 0xaa);
  packet.push_back(0);                 // source
  if (type == 0) packet.push_back(0);  // token
  packet.push_back(length);
  packet.insert(packet.end(), length, static_cast<std::uint8_t>(0x80 + type));
  return packet;
}

std::vector<std::uint8_t> join(std::initializer_list<std::vector<std::uint8_t>> parts) {
  std::vector<std::uint8_t> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

const std::vector<std::uint8_t> k_short_packet{0x41, 1, 2, 3, 4, 5, 6, 7, 8, 9};

TEST(Datagram, IsTakenApart) {
  const auto initial = long_packet(0, 30);
  const auto zero_rtt = long_packet(1, 40);
  const auto handshake = long_packet(2, 50);
  auto datagram = join({initial, zero_rtt, handshake, k_short_packet});
  const auto before = datagram;
  EXPECT_EQ(short_packet_offset(datagram), datagram.size() - k_short_packet.size());
  const DatagramParts parts = split_datagram(datagram);
  EXPECT_TRUE(parts.handshake);
  ASSERT_EQ(parts.packets.size(), 2u);
  EXPECT_EQ(parts.packets[0], zero_rtt);
  EXPECT_EQ(parts.packets[1], k_short_packet);
  ASSERT_EQ(datagram.size(), before.size());
  const std::size_t tail = datagram.size() - k_short_packet.size();
  EXPECT_TRUE(std::equal(datagram.begin(), datagram.begin() + static_cast<std::ptrdiff_t>(tail),
                         before.begin()));
  for (std::size_t i = tail; i < datagram.size(); ++i) EXPECT_EQ(datagram[i], 0);
}

TEST(Datagram, ZeroRttAloneIsNotForTheHandshake) {
  auto datagram = join({long_packet(1, 40), long_packet(1, 41)});
  const DatagramParts parts = split_datagram(datagram);
  EXPECT_FALSE(parts.handshake);
  EXPECT_EQ(parts.packets.size(), 2u);
}

TEST(Datagram, ZeroTailIsPadding) {
  auto datagram = join({long_packet(0, 30), std::vector<std::uint8_t>(100, 0)});
  EXPECT_EQ(short_packet_offset(datagram), datagram.size());
  EXPECT_TRUE(split_datagram(datagram).packets.empty());
}

TEST(Datagram, RetryAndVersionNegotiationAreForTheHandshake) {
  std::vector<std::uint8_t> retry(200);
  const std::vector<std::uint8_t> ours{9, 9, 9, 9, 9, 9, 9, 9};
  retry.resize(write_retry(retry, k_version_1, ConnectionId(k_short_packet), ConnectionId(ours),
                           ConnectionId(k_short_packet), k_short_packet));
  ASSERT_FALSE(retry.empty());
  const auto retry_parts = split_datagram(retry);
  EXPECT_TRUE(retry_parts.handshake);
  EXPECT_TRUE(retry_parts.packets.empty());

  std::vector<std::uint8_t> negotiation(200);
  negotiation.resize(write_version_negotiation(negotiation, 3, k_short_packet, {}));
  EXPECT_TRUE(split_datagram(negotiation).handshake);
  EXPECT_EQ(peek_datagram(negotiation, 8).kind, DatagramHeader::Kind::kLong);
  EXPECT_EQ(peek_datagram(negotiation, 8).version, 0u);
}

TEST(Datagram, VersionNegotiationSwapsTheIdsAndNamesOurVersions) {
  const std::vector<std::uint8_t> source{1, 2, 3};
  const std::vector<std::uint8_t> destination(200, 7);  // RFC 8999: up to 255 bytes
  std::vector<std::uint8_t> packet(300);
  packet.resize(write_version_negotiation(packet, 3, source, destination));
  ASSERT_EQ(packet.size(), 7 + 3 + 200 + 3 * 4u);
  EXPECT_EQ(packet[5], 3);
  EXPECT_EQ(packet[6], 1);
  EXPECT_EQ(packet[9], 200);
  const Bytes versions = Bytes(packet).last(12);
  EXPECT_EQ(versions[0] & 0x0f, 0x0a);
  EXPECT_EQ(versions[7], 1);
  EXPECT_EQ(versions[8], 0x6b);
}

TEST(Datagram, TooLittleRoomGivesNothing) {
  std::vector<std::uint8_t> out(20);
  const ConnectionId id(k_short_packet);
  EXPECT_EQ(write_retry(out, k_version_1, id, ConnectionId{}, id, k_short_packet), 0u);
  EXPECT_EQ(write_version_negotiation(out, 1, k_short_packet, k_short_packet), 0u);
  EXPECT_EQ(write_refusal(out, {k_version_1, id, id}), 0u);
}

TEST(Datagram, FirstLookRoutes) {
  const auto initial = long_packet(0, 30);
  const auto header = peek_datagram(initial, 8);
  EXPECT_EQ(header.kind, DatagramHeader::Kind::kLong);
  EXPECT_EQ(header.version, k_version_1);
  EXPECT_EQ(header.destination.size(), 8u);

  const auto short_header = peek_datagram(k_short_packet, 8);
  EXPECT_EQ(short_header.kind, DatagramHeader::Kind::kShort);
  EXPECT_EQ(short_header.destination.size(), 8u);
  EXPECT_EQ(short_header.destination[0], 1);
  EXPECT_EQ(peek_datagram(k_short_packet, 20).kind, DatagramHeader::Kind::kInvalid);
  EXPECT_EQ(peek_datagram({}, 8).kind, DatagramHeader::Kind::kInvalid);

  auto unknown = long_packet(0, 30);
  unknown[4] = 99;
  // RFC 9000 §6: a datagram that is too small for an Initial gets no response.
  EXPECT_EQ(peek_datagram(unknown, 8).kind, DatagramHeader::Kind::kInvalid);
  unknown.resize(1200);
  EXPECT_EQ(peek_datagram(unknown, 8).kind, DatagramHeader::Kind::kUnsupportedVersion);
}

TEST(Datagram, OnlyAFullSizeInitialOpensAConnection) {
  auto datagram = long_packet(0, 30);
  EXPECT_FALSE(accept_initial(datagram));
  datagram.resize(1200);
  const auto initial = accept_initial(datagram);
  ASSERT_TRUE(initial);
  EXPECT_EQ(initial->destination.length, 8);
  EXPECT_EQ(initial->version, k_version_1);
  auto handshake = long_packet(2, 30);
  handshake.resize(1200);
  EXPECT_FALSE(accept_initial(handshake));
  EXPECT_FALSE(accept_initial({}));
}

TEST(Datagram, NoiseIsTakenApartWithinBounds) {
  SeededRandom random(7);
  for (int i = 0; i < 5000; ++i) {
    std::vector<std::uint8_t> noise(random.below(1500));
    random.fill(noise);
    if (noise.size() > 5) std::copy_n("\xc0\0\0\0\1", 5, noise.begin());
    const std::size_t length = noise.size();
    const auto parts = split_datagram(noise);
    EXPECT_LE(parts.packets.size(), 16u);
    EXPECT_EQ(noise.size(), length);
  }
}

}  // namespace
}  // namespace sheaf::quic
