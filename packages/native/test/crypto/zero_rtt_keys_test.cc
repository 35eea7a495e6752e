#include "crypto/zero_rtt_keys.h"

#include <gtest/gtest.h>

#include "crypto/secrets.h"
#include "wire/packet_header.h"

namespace sheaf::quic {
namespace {

const ConnectionId k_destination(from_hex("0102030405060708"));
const ConnectionId k_source(from_hex("aabbcc"));

std::vector<std::uint8_t> sealed_packet(ZeroRttKeys& keys, PacketNumber number, Bytes payload) {
  std::vector<std::uint8_t> packet(1400);
  Writer writer{packet};
  SealJob job = keys.begin(writer, k_destination, k_source, number);
  writer.write_bytes(payload);
  job.payload_length = static_cast<std::uint32_t>(payload.size());
  keys.seal(job);
  packet.resize(writer.size() + k_aead_tag_length);
  return packet;
}

TEST(ZeroRttKeys, RoundTripsInBothVersions) {
  SeededRandom random{1};
  const std::vector<std::uint8_t> payload(1000, 0x17);
  for (std::uint32_t version : {k_version_1, k_version_2}) {
    for (CipherSuite suite : k_all_suites) {
      TrafficSecret secret = random_secret(suite, random);
      secret.version = version;
      ZeroRttKeys client{secret};
      ZeroRttKeys server{secret};
      std::vector<std::uint8_t> packet = sealed_packet(client, 70000, payload);

      const auto header = decode_long_header(packet);
      ASSERT_TRUE(header);
      EXPECT_EQ(header->type, LongPacketType::kZeroRtt);
      EXPECT_EQ(header->version, version);
      EXPECT_EQ(header->destination, k_destination);
      EXPECT_EQ(header->source, k_source);
      EXPECT_EQ(header->packet_length, packet.size());

      const OpenedPacket opened = server.open(packet, 69999);
      ASSERT_EQ(opened.outcome, OpenedPacket::Outcome::kOpened);
      EXPECT_EQ(opened.number, 70000u);
      EXPECT_TRUE(std::ranges::equal(opened.payload, payload));
    }
  }
}

TEST(ZeroRttKeys, DropsWhatIsNotAWholeGenuinePacket) {
  SeededRandom random{2};
  const TrafficSecret secret = random_secret(CipherSuite::kAes128GcmSha256, random);
  ZeroRttKeys keys{secret};
  const std::vector<std::uint8_t> whole = sealed_packet(keys, 0, std::vector<std::uint8_t>(20, 1));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::vector<std::uint8_t> packet(whole.begin(), whole.begin() + static_cast<long>(length));
    EXPECT_EQ(keys.open(packet, k_no_packet_number).outcome, OpenedPacket::Outcome::kDropped);
  }
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::vector<std::uint8_t> packet = whole;
    packet[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    EXPECT_EQ(keys.open(packet, k_no_packet_number).outcome, OpenedPacket::Outcome::kDropped);
  }
}

TEST(ZeroRttKeys, DropsAPacketOfTheOtherVersion) {
  SeededRandom random{3};
  TrafficSecret secret = random_secret(CipherSuite::kAes128GcmSha256, random);
  ZeroRttKeys client{secret};
  secret.version = k_version_2;
  ZeroRttKeys server{secret};
  std::vector<std::uint8_t> packet = sealed_packet(client, 0, std::vector<std::uint8_t>(20, 1));
  EXPECT_EQ(server.open(packet, k_no_packet_number).outcome, OpenedPacket::Outcome::kDropped);
}

TEST(ZeroRttKeys, ReservedBitsAreAViolation) {
  SeededRandom random{4};
  ZeroRttKeys keys{random_secret(CipherSuite::kAes128GcmSha256, random)};
  std::vector<std::uint8_t> packet(200);
  Writer writer{packet};
  SealJob job = keys.begin(writer, k_destination, k_source, 0);
  packet[0] |= 0x08;
  writer.write_u32(0x01010101);
  job.payload_length = 4;
  keys.seal(job);
  packet.resize(writer.size() + k_aead_tag_length);
  const OpenedPacket opened = keys.open(packet, k_no_packet_number);
  EXPECT_EQ(opened.outcome, OpenedPacket::Outcome::kError);
  EXPECT_EQ(opened.error, TransportErrorCode::kProtocolViolation);
}

}  // namespace
}  // namespace sheaf::quic
