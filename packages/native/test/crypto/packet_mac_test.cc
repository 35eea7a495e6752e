#include "crypto/packet_mac.h"

#include <gtest/gtest.h>

#include "util/random.h"
#include "wire/hex.h"

namespace sheaf::quic {
namespace {

// GCM specification (McGrew and Viega), test case 1: neither plaintext nor other data
TEST(PacketMac, TagsTheEmptyExample) {
  for (CryptoProvider provider : {CryptoProvider::kGnuTls, CryptoProvider::kIpsecMb}) {
    const auto mac = make_packet_mac(provider);
    if (!mac) continue;
    const PacketTag tag = mac->tag({}, 0);
    EXPECT_EQ(std::vector<std::uint8_t>(tag.begin(), tag.end()),
              from_hex("58e2fccefa7e3061367f1d57a4e7455a"));
  }
}

TEST(PacketMac, ProvidersAgreeAndEverythingCounts) {
  SeededRandom random{9};
  for (int round = 0; round < 200; ++round) {
    MacKey key;
    random.fill(key);
    std::vector<std::uint8_t> packet(1 + random.below(1500));
    random.fill(packet);
    const PacketNumber number = random.next() >> 2;
    const auto gnutls = make_packet_mac(CryptoProvider::kGnuTls);
    const auto automatic = make_packet_mac();
    gnutls->set_key(key);
    automatic->set_key(key);
    const PacketTag tag = gnutls->tag(packet, number);
    EXPECT_EQ(automatic->tag(packet, number), tag);
    EXPECT_NE(automatic->tag(packet, number + 1), tag);
    packet[random.below(packet.size())] ^= 1;
    EXPECT_NE(automatic->tag(packet, number), tag);
  }
}

}  // namespace
}  // namespace sheaf::quic
