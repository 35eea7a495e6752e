#include "crypto/packet_protection.h"

#include <gtest/gtest.h>

#include "crypto/packet_keys.h"
#include "crypto/secrets.h"

namespace sheaf::quic {
namespace {

constexpr CryptoProvider k_providers[] = {CryptoProvider::kGnuTls, CryptoProvider::kIpsecMb};

const char* name_of(CryptoProvider provider) {
  return provider == CryptoProvider::kGnuTls ? "GnuTLS" : "IPsec-MB";
}

TrafficSecret server_initial_secret() {
  return make_secret(CipherSuite::kAes128GcmSha256,
                     from_hex("3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b"));
}

TrafficSecret chacha20_secret() {
  return make_secret(CipherSuite::kChacha20Poly1305Sha256,
                     from_hex("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b"));
}

// Holds a packet and how to seal it.
struct Sealing {
  std::vector<std::uint8_t> packet;
  SealJob job;
};

Sealing make_sealing(Bytes header, Bytes payload, std::uint8_t number_length, PacketNumber number) {
  Sealing sealing;
  sealing.packet.assign(header.begin(), header.end());
  sealing.packet.insert(sealing.packet.end(), payload.begin(), payload.end());
  sealing.packet.resize(sealing.packet.size() + k_aead_tag_length);
  sealing.job = {.packet = sealing.packet.data(),
                 .payload_length = static_cast<std::uint32_t>(payload.size()),
                 .header_length = static_cast<std::uint16_t>(header.size()),
                 .packet_number_length = number_length,
                 .path = {},
                 .number = number};
  return sealing;
}

// RFC 9001 §A.3: the server's Initial.
TEST(PacketProtection, SealsTheServerInitialExample) {
  const auto header = from_hex("c1000000010008f067a5502a4262b50040750001");
  const auto payload = from_hex(
      "02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf73988cfc79825df566dc5430b9a045a"
      "1200130100002e00330024001d00209d3c940d89690b84d08a60993c144eca684d1081287c834d5311bcf32bb9da"
      "1a002b00020304");
  const auto expected = from_hex(
      "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a1c6979755478"
      "0bb38cc5a99f5ede4cf73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562b"
      "fb19fb84022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc42158407dd074ee");
  for (CryptoProvider provider : k_providers) {
    SCOPED_TRACE(name_of(provider));
    const auto aead = make_aead(server_initial_secret(), provider);
    const auto protection = make_header_protection(server_initial_secret(), provider);
    if (!aead) GTEST_SKIP() << "this processor has no IPsec-MB";
    Sealing sealing = make_sealing(header, payload, 2, 1);
    aead->seal({&sealing.job, 1});
    protection->protect({&sealing.job, 1});
    EXPECT_EQ(sealing.packet, expected);
  }
}

// RFC 9001 §A.2 and §A.3.
TEST(PacketProtection, MasksTheHeaderExamples) {
  const TrafficSecret client =
      make_secret(CipherSuite::kAes128GcmSha256,
                  from_hex("c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea"));
  for (CryptoProvider provider : k_providers) {
    SCOPED_TRACE(name_of(provider));
    const auto protection = make_header_protection(client, provider);
    if (!protection) GTEST_SKIP() << "this processor has no IPsec-MB";
    std::vector<std::uint8_t> mask(5);
    protection->mask(from_hex("d1b1c98dd7689fb8ec11d242b123dc9b").data(), mask.data());
    EXPECT_EQ(mask, from_hex("437b9aec36"));
    make_header_protection(server_initial_secret(), provider)
        ->mask(from_hex("2cd0991cd25b0aac406a5816b6394100").data(), mask.data());
    EXPECT_EQ(mask, from_hex("2ec0d8356a"));
  }
}

// RFC 9001 §A.5.
TEST(PacketProtection, SealsAndOpensTheChacha20Example) {
  const auto aead = make_aead(chacha20_secret());
  const auto protection = make_header_protection(chacha20_secret());
  Sealing sealing = make_sealing(from_hex("4200bff4"), from_hex("01"), 3, 654360564);
  aead->seal({&sealing.job, 1});
  EXPECT_EQ(sealing.packet, from_hex("4200bff4655e5cd55c41f69080575d7999c25a5bfb"));
  protection->protect({&sealing.job, 1});
  EXPECT_EQ(sealing.packet, from_hex("4cfe4189655e5cd55c41f69080575d7999c25a5bfb"));

  const auto header = remove_header_protection(*protection, sealing.packet, 1);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->packet_number_length, 3);
  EXPECT_EQ(header->truncated_packet_number, 0x00bff4u);
  const MutableBytes packet{sealing.packet};
  EXPECT_TRUE(aead->open_in_place(packet.first(4), packet.subspan(4), {}, 654360564));
  EXPECT_EQ(sealing.packet[4], 0x01);
}

// RFC 10069 §2.4.
TEST(PacketProtection, NonceHoldsPathAndPacketNumber) {
  Nonce iv;
  std::ranges::copy(from_hex("6b26114b9cba2b63a9e8dd4f"), iv.begin());
  const Nonce nonce = make_nonce(iv, PathId{3}, 54321);
  EXPECT_EQ(std::vector<std::uint8_t>(nonce.begin(), nonce.end()),
            from_hex("6b2611489cba2b63a9e8097e"));
}

TEST(PacketProtection, PathsHaveTheirOwnNonces) {
  SeededRandom random{2};
  for (CipherSuite suite : k_all_suites) {
    const auto aead = make_aead(random_secret(suite, random));
    Sealing sealing = make_sealing(from_hex("4000"), from_hex("0101010101"), 1, 0);
    sealing.job.path = PathId{1};
    aead->seal({&sealing.job, 1});
    const MutableBytes packet{sealing.packet};
    std::vector<std::uint8_t> copy = sealing.packet;
    EXPECT_FALSE(aead->open_in_place(packet.first(2), MutableBytes(copy).subspan(2), PathId{0}, 0));
    EXPECT_TRUE(aead->open_in_place(packet.first(2), packet.subspan(2), PathId{1}, 0));
  }
}

TEST(PacketProtection, ProvidersAgreeOnEveryByte) {
  if (!make_aead(server_initial_secret(), CryptoProvider::kIpsecMb)) {
    GTEST_SKIP() << "this processor has no IPsec-MB";
  }
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random{seed};
    const TrafficSecret secret = random_secret(k_all_suites[random.below(2)], random);
    std::vector<Sealing> batches[2];
    const std::size_t count = 1 + random.below(33);
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<std::uint8_t> header(5 + random.below(40));
      std::vector<std::uint8_t> payload(4 + random.below(1500));
      random.fill(header);
      random.fill(payload);
      const auto number_length = static_cast<std::uint8_t>(1 + random.below(4));
      Sealing sealing = make_sealing(header, payload, number_length, random.next() >> 2);
      sealing.job.path.value = static_cast<std::uint32_t>(random.next());
      for (auto& batch : batches) batch.push_back(sealing);
    }
    for (std::size_t side = 0; side < 2; ++side) {
      std::vector<SealJob> jobs;
      for (Sealing& sealing : batches[side]) {
        sealing.job.packet = sealing.packet.data();
        jobs.push_back(sealing.job);
      }
      make_aead(secret, k_providers[side])->seal(jobs);
      make_header_protection(secret, k_providers[side])->protect(jobs);
    }
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(batches[0][i].packet, batches[1][i].packet) << "packet " << i;
    }
  }
}

TEST(PacketProtection, DetectsTampering) {
  SeededRandom random{4};
  for (CryptoProvider provider : k_providers) {
    for (CipherSuite suite : k_all_suites) {
      const auto aead = make_aead(random_secret(suite, random), provider);
      if (!aead) continue;  // IPsec-MB has no ChaCha20
      Sealing sealing = make_sealing(from_hex("41aabbcc0001"), from_hex("0102030405060708"), 2, 1);
      aead->seal({&sealing.job, 1});
      for (std::size_t bit = 0; bit < sealing.packet.size() * 8; ++bit) {
        std::vector<std::uint8_t> packet = sealing.packet;
        packet[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
        const MutableBytes bytes{packet};
        ASSERT_FALSE(aead->open_in_place(bytes.first(6), bytes.subspan(6), {}, 1)) << "bit " << bit;
      }
      std::vector<std::uint8_t> packet = sealing.packet;
      const MutableBytes bytes{packet};
      EXPECT_FALSE(aead->open_in_place(bytes.first(6), bytes.subspan(6).first(15), {}, 1));
      EXPECT_TRUE(aead->open_in_place(bytes.first(6), bytes.subspan(6), {}, 1));
    }
  }
}

TEST(PacketProtection, OpensIntoAnotherBuffer) {
  SeededRandom random{5};
  for (CryptoProvider provider : k_providers) {
    for (CipherSuite suite : k_all_suites) {
      const auto aead = make_aead(random_secret(suite, random), provider);
      if (!aead) continue;  // IPsec-MB has no ChaCha20
      for (std::size_t length : {1u, 15u, 16u, 17u, 333u, 1400u}) {
        std::vector<std::uint8_t> payload(length);
        random.fill(payload);
        Sealing sealing = make_sealing(from_hex("41aabbcc0001"), payload, 2, 1);
        aead->seal({&sealing.job, 1});
        const std::vector<std::uint8_t> sealed = sealing.packet;
        std::vector<std::uint8_t> opened(length);
        const Bytes bytes{sealing.packet};
        EXPECT_TRUE(aead->open(bytes.first(6), bytes.subspan(6), {}, 1, opened.data()));
        EXPECT_EQ(opened, payload);
        EXPECT_EQ(sealing.packet, sealed);
        EXPECT_FALSE(aead->open(bytes.first(6), bytes.subspan(6), {}, 2, opened.data()));
        EXPECT_EQ(sealing.packet, sealed);
      }
    }
  }
}

// RFC 9000 §10.3: a stateless reset has its token there.
TEST(PacketProtection, OpeningLeavesTheLastBytesAlone) {
  SeededRandom random{6};
  for (CryptoProvider provider : k_providers) {
    for (CipherSuite suite : k_all_suites) {
      const auto aead = make_aead(random_secret(suite, random), provider);
      if (!aead) continue;  // IPsec-MB has no ChaCha20
      std::vector<std::uint8_t> packet(100);
      random.fill(packet);
      const std::vector<std::uint8_t> tail(packet.end() - 16, packet.end());
      EXPECT_FALSE(
          aead->open_in_place(Bytes(packet).first(10), MutableBytes(packet).subspan(10), {}, 7));
      EXPECT_EQ(std::vector<std::uint8_t>(packet.end() - 16, packet.end()), tail);
    }
  }
}

TEST(PacketProtection, RoundTripsEveryNumberLength) {
  SeededRandom random{8};
  for (CipherSuite suite : k_all_suites) {
    const TrafficSecret secret = random_secret(suite, random);
    const auto aead = make_aead(secret);
    const auto protection = make_header_protection(secret);
    for (std::uint8_t length = 1; length <= 4; ++length) {
      std::vector<std::uint8_t> header{static_cast<std::uint8_t>(0x40 | (length - 1)), 0xaa, 0xbb};
      for (std::uint8_t i = 0; i < length; ++i) header.push_back(i);
      Sealing sealing = make_sealing(header, std::vector<std::uint8_t>(50, 1), length, 0x00010203);
      aead->seal({&sealing.job, 1});
      protection->protect({&sealing.job, 1});
      const auto opened = remove_header_protection(*protection, sealing.packet, 3);
      ASSERT_TRUE(opened);
      EXPECT_EQ(opened->packet_number_length, length);
      EXPECT_TRUE(std::ranges::equal(Bytes(sealing.packet).first(header.size()), header));
    }
  }
}

TEST(PacketProtection, ShortPacketsCannotBeSampled) {
  const auto protection = make_header_protection(server_initial_secret());
  for (std::size_t length = 1; length < 9 + 4 + 16; ++length) {
    std::vector<std::uint8_t> packet(length, 0x40);
    EXPECT_FALSE(remove_header_protection(*protection, packet, 9)) << length;
    EXPECT_EQ(packet, std::vector<std::uint8_t>(length, 0x40));
  }
}

TEST(PacketProtection, ChoosesTheProviderThatCan) {
  EXPECT_FALSE(make_aead(chacha20_secret(), CryptoProvider::kIpsecMb));
  EXPECT_FALSE(make_header_protection(chacha20_secret(), CryptoProvider::kIpsecMb));
  for (CipherSuite suite : k_all_suites) {
    SeededRandom random{10};
    EXPECT_TRUE(make_aead(random_secret(suite, random)));
    EXPECT_TRUE(make_header_protection(random_secret(suite, random)));
  }
}

// RFC 9001 §6.6.
TEST(PacketProtection, KnowsTheLimitsOfEverySuite) {
  EXPECT_EQ(confidentiality_limit(CipherSuite::kAes128GcmSha256), 1u << 23);
  EXPECT_EQ(confidentiality_limit(CipherSuite::kAes256GcmSha384), 1u << 23);
  EXPECT_EQ(integrity_limit(CipherSuite::kAes128GcmSha256), std::uint64_t{1} << 52);
  EXPECT_EQ(integrity_limit(CipherSuite::kChacha20Poly1305Sha256), std::uint64_t{1} << 36);
}

}  // namespace
}  // namespace sheaf::quic
