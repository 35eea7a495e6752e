#include "crypto/key_schedule.h"

#include <gtest/gtest.h>

#include "crypto/packet_keys.h"
#include "crypto/secrets.h"

namespace sheaf::quic {
namespace {

std::vector<std::uint8_t> key_of(const PacketKeys& keys) {
  return {keys.key.begin(), keys.key.begin() + keys.key_length};
}
std::vector<std::uint8_t> iv_of(const PacketKeys& keys) { return {keys.iv.begin(), keys.iv.end()}; }
std::vector<std::uint8_t> bytes_of(const TrafficSecret& secret) {
  return {secret.view().begin(), secret.view().end()};
}

// RFC 9001 §A.1.
TEST(KeySchedule, DerivesTheKeysOfTheInitialExample) {
  const TrafficSecret client =
      make_secret(CipherSuite::kAes128GcmSha256,
                  from_hex("c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea"));
  EXPECT_EQ(key_of(derive_packet_keys(client)), from_hex("1f369613dd76d5467730efcbe3b1a22d"));
  EXPECT_EQ(iv_of(derive_packet_keys(client)), from_hex("fa044b2f42a3fd3b46fb255c"));
  EXPECT_EQ(key_of(derive_header_key(client)), from_hex("9f50449e04a0e810283a1e9933adedd2"));
}

TEST(KeySchedule, ExpandsWithALongLabel) {
  const TrafficSecret initial =
      make_secret(CipherSuite::kAes128GcmSha256,
                  from_hex("7db5df06e7a69e432496adedb00851923595221596ae2ae9fb8115c1e9ed0a44"));
  std::vector<std::uint8_t> client(32);
  expand_label(initial, "client in", {}, client);
  EXPECT_EQ(client, from_hex("c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea"));
}

// RFC 9001 §A.5.
TEST(KeySchedule, DerivesTheKeysOfTheChacha20Example) {
  const TrafficSecret secret =
      make_secret(CipherSuite::kChacha20Poly1305Sha256,
                  from_hex("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b"));
  EXPECT_EQ(key_of(derive_packet_keys(secret)),
            from_hex("c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8"));
  EXPECT_EQ(iv_of(derive_packet_keys(secret)), from_hex("e0459b3474bdd0e44a41c144"));
  EXPECT_EQ(key_of(derive_header_key(secret)),
            from_hex("25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4"));
  EXPECT_EQ(bytes_of(next_generation(secret)),
            from_hex("1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9"));
}

// RFC 9369 §A.5.
TEST(KeySchedule, UsesTheLabelsOfVersion2) {
  const TrafficSecret secret = make_secret(
      CipherSuite::kChacha20Poly1305Sha256,
      from_hex("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b"), k_version_2);
  EXPECT_EQ(key_of(derive_packet_keys(secret)),
            from_hex("3bfcddd72bcf02541d7fa0dd1f5f9eeea817e09a6963a0e6c7df0f9a1bab90f2"));
  EXPECT_EQ(iv_of(derive_packet_keys(secret)), from_hex("a6b5bc6ab7dafce30ffff5dd"));
  EXPECT_EQ(key_of(derive_header_key(secret)),
            from_hex("d659760d2ba434a226fd37b35c69e2da8211d10c4f12538787d65645d5d1b8e2"));
  EXPECT_EQ(bytes_of(next_generation(secret)),
            from_hex("c69374c49e3d2a9466fa689e49d476db5d0dfbc87d32ceeaa6343fd0ae4c7d88"));
}

TEST(KeySchedule, UsesTheHashOfTheSuite) {
  SeededRandom random{1};
  const TrafficSecret secret = random_secret(CipherSuite::kAes256GcmSha384, random);
  const TrafficSecret next = next_generation(secret);
  EXPECT_EQ(next.length, 48);
  EXPECT_EQ(next.suite, secret.suite);
  EXPECT_NE(bytes_of(next), bytes_of(secret));
  EXPECT_EQ(derive_packet_keys(secret).key_length, 32);
}

// Computed with Python's cryptography: HKDFExpand(hash, length, u16(length) || u8(16) ||
// "tls13 sheaf path" || u8(4) || u32(path)) over the secret 00 01 02 …
TEST(KeySchedule, DerivesTheSecretOfAPath) {
  std::vector<std::uint8_t> counting(48);
  for (std::size_t i = 0; i < counting.size(); ++i) counting[i] = static_cast<std::uint8_t>(i);
  const auto derived = [&](CipherSuite suite, std::size_t length, std::uint32_t path) {
    return path_secret(make_secret(suite, Bytes(counting).first(length)), PathId{path});
  };
  EXPECT_EQ(bytes_of(derived(CipherSuite::kAes128GcmSha256, 32, 0)),
            from_hex("862f1be932d3bf69b26bb81c0a087ba7b6a37395777b3e8e40461b93c8de01c2"));
  EXPECT_EQ(bytes_of(derived(CipherSuite::kChacha20Poly1305Sha256, 32, 1)),
            from_hex("0ed17f25bdedf449825953c11e8cc927ec4b18128cde3617f6893fd3e2966ad3"));
  EXPECT_EQ(bytes_of(derived(CipherSuite::kAes256GcmSha384, 48, 0x01020304)),
            from_hex("1a7303594a7061cd8793c2c4659d2930ff877ec0013ed18088b5b9e89bcb6762"
                     "6f83c7cb1eed2e558f23cf6615fd6199"));
  const TrafficSecret first = derived(CipherSuite::kAes256GcmSha384, 48, 1);
  EXPECT_EQ(key_of(derive_packet_keys(first)),
            from_hex("cdbbc3f349f0927a5aa60da3d7cb871e965df4ac5613c45ef98beec218feb0f8"));
  EXPECT_EQ(iv_of(derive_packet_keys(first)), from_hex("e1ccb775557b93ae7f1d2396"));
  EXPECT_EQ(key_of(derive_header_key(first)),
            from_hex("eefe4e65ce1a599169e7a9dde99e51fde91fe8dec5da21d80c077799e7f4a6dc"));
  EXPECT_EQ(bytes_of(next_generation(first)),
            from_hex("f31fb7662dd3ec53b257dfdc4dde509a9cd7bbf24b9856bf180d18f290fca592"
                     "14547eacc3961730cc5075ed99367c19"));
}

}  // namespace
}  // namespace sheaf::quic
