#include "sim/channel/shared_ciphers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "channel/messages.h"

namespace sheaf::quic {
namespace {

constexpr std::array<std::uint8_t, 13> k_header{0x43, 1, 2, 3};

TrafficSecret secret_of(std::uint8_t value) {
  TrafficSecret secret;
  secret.length = secret_length(secret.suite);
  std::ranges::fill(secret.bytes, value);
  return secret;
}

// Returns ciphertext and tag of `length` bytes of value 7.
std::vector<std::uint8_t> sealed(const TrafficSecret& secret, PacketNumber number,
                                 std::size_t length) {
  std::vector<std::uint8_t> packet(k_header.begin(), k_header.end());
  packet.resize(k_header.size() + length + k_aead_tag_length, 7);
  const SealJob job{.packet = packet.data(),
                    .payload_length = static_cast<std::uint32_t>(length),
                    .header_length = k_header.size(),
                    .packet_number_length = 4,
                    .path = PathId{},
                    .number = number};
  make_aead(secret)->seal({&job, 1});
  return {packet.begin() + k_header.size(), packet.end()};
}

bool opens(Aead& aead, Bytes payload, PacketNumber number) {
  std::vector<std::uint8_t> out(payload.size());
  if (!aead.open(k_header, payload, PathId{}, number, out.data())) return false;
  const auto clear = Bytes(out).first(payload.size() - k_aead_tag_length);
  return std::ranges::all_of(clear, [](std::uint8_t byte) { return byte == 7; });
}

TEST(SharedCiphers, OpensAPacketOnceForAllMembers) {
  SharedCiphers ciphers;
  const auto first = ciphers.aead(secret_of(1));
  const auto second = ciphers.aead(secret_of(1));
  const auto packet = sealed(secret_of(1), 5, 100);
  EXPECT_TRUE(opens(*first, packet, 5));
  EXPECT_TRUE(opens(*second, packet, 5));
  EXPECT_EQ(ciphers.opened(), 1u);
  EXPECT_EQ(ciphers.copied(), 1u);
}

TEST(SharedCiphers, GivesNoResultForOtherBytesNumbersOrKeys) {
  SharedCiphers ciphers;
  const auto member = ciphers.aead(secret_of(1));
  const auto packet = sealed(secret_of(1), 5, 100);
  EXPECT_TRUE(opens(*member, packet, 5));
  for (const std::size_t at : {std::size_t{0}, std::size_t{99}, packet.size() - 1}) {
    auto forged = packet;
    forged[at] ^= 1;
    EXPECT_FALSE(opens(*member, forged, 5));
    EXPECT_FALSE(opens(*member, forged, 5));
    EXPECT_TRUE(opens(*member, packet, 5));
  }
  EXPECT_FALSE(opens(*member, packet, 5 + 64));
  EXPECT_FALSE(opens(*member, Bytes(packet).first(15), 5));
  EXPECT_FALSE(opens(*ciphers.aead(secret_of(2)), packet, 5));
  auto header = k_header;
  header[1] ^= 1;
  std::vector<std::uint8_t> out(packet.size());
  EXPECT_FALSE(member->open(header, packet, PathId{}, 5, out.data()));
}

TEST(SharedCiphers, MasksAreThoseOfTheLibrary) {
  SharedCiphers ciphers;
  const auto shared = ciphers.header_protection(secret_of(1));
  const auto own = make_header_protection(secret_of(1));
  for (std::uint8_t i = 0; i < 200; ++i) {
    // Two samples begin with the same byte.
    std::array<std::uint8_t, k_header_protection_sample_length> sample{
        static_cast<std::uint8_t>(i / 2), i};
    std::array<std::uint8_t, 5> mask{}, expected{};
    own->mask(sample.data(), expected.data());
    for (int again = 0; again < 2; ++again) {
      shared->mask(sample.data(), mask.data());
      EXPECT_EQ(mask, expected);
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
