#include "direct_return/grant.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "direct_return/messages.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

std::optional<GrantFault> fault_of(Bytes bytes) {
  const auto grant = decode_grant(bytes);
  return grant ? std::nullopt : std::optional(grant.error());
}

TEST(Grant, HasKnownBytes) {
  EXPECT_EQ(hex(encode_grant(example_grant())),
            "03"                                        // version
            "0102030405060708111213142122232425262728"  // ids
            "010000"                                    // mode and path
            "1301303132333435363738393a3b3c3d3e3f" +
                std::string(32, '0') +      // suite and key
                "404142434445464748494a4b"  // IV
                "505152535455565758595a5b5c5d5e5f" +
                std::string(32, '0') +                  // header key
                "00000003000000123456"                  // generation, first number
                "00000000000000000000ffffcb00710701bb"  // the gateway's address
                "00000000000000000000ffffcb007163c350"  // the client's
                "04c1c2c3c4" +
                std::string(32, '0') +
                "01"                                                // its connection id, flags
                "000000000000000800000000000001000000000000020000"  // stream and offsets
                "05ac03e8"                                          // datagram, silence
                "00000000000000000000");                            // no first packet
  Grant grant = example_grant();
  grant.first_offset = 0;
  grant.first = {.number = 0x123457, .bytes = 1000, .lifetime = 16us * 0x102};
  EXPECT_EQ(hex(encode_grant(grant)).substr(2 * 198), "00000012345703e80102");
}

TEST(Grant, ComesBackAsItWas) {
  Grant grant = example_grant();
  for (const CipherSuite suite : {CipherSuite::kAes128GcmSha256, CipherSuite::kAes256GcmSha384,
                                  CipherSuite::kChacha20Poly1305Sha256}) {
    grant.keys.suite = suite;
    grant.keys.packet.key_length = grant.keys.header.key_length = key_length(suite);
    const auto bytes = encode_grant(grant);
    ASSERT_EQ(bytes.size(), Grant::k_encoded_size);
    const auto copy = decode_grant(bytes);
    ASSERT_TRUE(copy);
    EXPECT_EQ(encode_grant(*copy), bytes);
    EXPECT_TRUE(copy->keys.valid());
    EXPECT_EQ(copy->addresses, grant.addresses);
    EXPECT_EQ(copy->client_id, grant.client_id);
    EXPECT_EQ(copy->keys.packet.iv, grant.keys.packet.iv);
    EXPECT_EQ(copy->silence, grant.silence);
    EXPECT_EQ(copy->first.bytes, 0u);
  }
  grant.first_offset = 0;
  grant.first = {.number = 0x123456, .bytes = 1000, .lifetime = 48ms};
  const auto with_packet = decode_grant(encode_grant(grant));
  ASSERT_TRUE(with_packet);
  EXPECT_EQ(with_packet->first.number, grant.first.number);
  EXPECT_EQ(with_packet->first.bytes, grant.first.bytes);
  EXPECT_EQ(with_packet->first.lifetime, grant.first.lifetime);
  grant.addresses.local = {
      .ip = {0x20, 1, 0xd, 0xb8, 1}, .port = 443, .family = Address::Family::kIpv6};
  grant.addresses.remote = {
      .ip = {0x20, 1, 0xd, 0xb8, 2}, .port = 1, .family = Address::Family::kIpv6};
  grant.client_id = {};  // Chromium's
  const auto copy = decode_grant(encode_grant(grant));
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->addresses, grant.addresses);
  EXPECT_EQ(copy->client_id, grant.client_id);
}

TEST(Grant, IsRefusedWhenCutOrLonger) {
  auto bytes = encode_grant(example_grant());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(fault_of(Bytes(bytes).first(size)), GrantFault::kMalformed) << size;
  }
  bytes.push_back(0);
  EXPECT_EQ(fault_of(bytes), GrantFault::kMalformed);
}

TEST(Grant, IsRefusedOfAnotherVersion) {
  auto bytes = encode_grant(example_grant());
  for (const std::uint8_t version : std::to_array<std::uint8_t>({0, 1, 2, 4, 255})) {
    bytes[0] = version;
    EXPECT_EQ(fault_of(bytes), GrantFault::kUnknownVersion);
  }
}

TEST(Grant, IsRefusedWithAValueThatNoGatewayWrites) {
  const std::vector<std::function<void(Grant&)>> changes = {
      [](Grant& grant) { grant.keys.path = PathId{1}; },
      [](Grant& grant) { grant.keys.suite = static_cast<CipherSuite>(0x1304); },
      [](Grant& grant) { grant.addresses.remote.port = 0; },
      [](Grant& grant) {
        grant.addresses.remote.ip = {224, 0, 0, 1};
      },
      [](Grant& grant) { grant.addresses.local.ip = {}; },
      [](Grant& grant) {
        grant.addresses.local = {.ip = {0x20, 1}, .port = 443, .family = Address::Family::kIpv6};
      },
      [](Grant& grant) { grant.stream = StreamId{1}; },
      [](Grant& grant) { grant.stream = StreamId{2}; },
      [](Grant& grant) { grant.limit = grant.first_offset - 1; },
      [](Grant& grant) { grant.limit = std::uint64_t{1} << 48; },
      [](Grant& grant) { grant.max_datagram = 1199; },
      [](Grant& grant) { grant.silence = 0ms; },
      [](Grant& grant) { grant.silence = 60'001ms; },
      // Of a first packet
      [](Grant& grant) { grant.first.number = 1; },
      [](Grant& grant) { grant.first.lifetime = 1ms; },
      [](Grant& grant) {
        grant.first = {.number = 0x123456, .bytes = 1000};  // the stream has begun
      },
      [](Grant& grant) {
        grant.first_offset = 0;
        grant.first = {.number = 0x123455, .bytes = 1000};
      },
      [](Grant& grant) {
        grant.first_offset = 0;
        grant.first = {.number = 0x123456, .bytes = 1452};
      },
      [](Grant& grant) {
        grant.first_offset = 0;
        grant.limit = 999;
        grant.first = {.number = 0x123456, .bytes = 1000};
      },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Grant grant = example_grant();
    changes[i](grant);
    EXPECT_EQ(fault_of(encode_grant(grant)), GrantFault::kOutOfRange) << i;
  }
}

TEST(Grant, IsRefusedWithBytesBehindAShortKeyOrId) {
  for (const std::size_t place : {26 + 16, 70 + 31, 153}) {
    auto bytes = encode_grant(example_grant());
    ASSERT_EQ(bytes[place], 0) << place;
    bytes[place] = 1;
    EXPECT_EQ(fault_of(bytes), GrantFault::kOutOfRange) << place;
  }
}

TEST(Grant, DamagedAtRandomIsRefusedOrReadAsSomething) {
  SeededRandom random(5);
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = encode_grant(example_grant());
    for (std::uint64_t hits = 1 + random.below(3); hits > 0; --hits) {
      bytes[random.below(bytes.size())] = static_cast<std::uint8_t>(random.next());
    }
    if (const auto grant = decode_grant(bytes)) {
      EXPECT_EQ(encode_grant(*grant), bytes);
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
