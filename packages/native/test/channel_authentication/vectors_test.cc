#include <gtest/gtest.h>

#include "channel_authentication/channel_world.h"
#include "channel_authentication/flight_hashes.h"
#include "channel_authentication/key_chain.h"
#include "wire/hex.h"

namespace sheaf::quic {
namespace {

// The vectors of docs/internals/multicast-authentication.md

std::vector<std::uint8_t> copied(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

std::vector<std::uint8_t> two_hashes() {
  std::vector<std::uint8_t> hashes(32, 0xaa);
  std::fill(hashes.begin() + 16, hashes.end(), std::uint8_t{0xbb});
  return hashes;
}

TEST(AuthenticationVectors, FlightsAreSignedSo) {
  const auto hashes = two_hashes();
  const FlightFrame frame{.first = 0x100,
                          .key_sequence = 3,
                          .count = 2,
                          .per_list = 0,
                          .hash_length = 16,
                          .hashes = hashes,
                          .signature = {}};
  const auto hasher = make_batch_hasher();
  const FlightText text = flight_text(k_test_channel, frame, hasher->hash_one(hashes));
  EXPECT_EQ(copied(text),
            from_hex("7368656166206368616e6e656c20666c69676874c0c1c2c3c4c5c6c70000000000000003"
                     "0000000000000100000000020000"
                     "1043de3f42d8de0da81a6c6c58fcd8b6e06f82bf1cb66ef1e8e643ebce23e03842"));
  const SigningKey key(test_seed(1));
  EXPECT_EQ(copied(key.public_key()),
            from_hex("8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c"));
  EXPECT_EQ(copied(key.sign(text)),
            from_hex("2f642aa708596645035c78eca55b4f2c38023cce99ec278fc0ffc7eba18d1b31"
                     "ec294f3d2d3f2621279ca4cbf578b688ddf0c12d62614c8e87285131b10cd50b"));
  ListText list;
  list.set(0x150, hashes);
  EXPECT_EQ(copied(hasher->hash_one(list.view())),
            from_hex("d0e57955567e136c88e31922cee4dfe2a0a048163e0be322d499e0fd85d8ab40"));
}

TEST(AuthenticationVectors, KeysOfTheChainAreDerivedSo) {
  ChainKey key;
  const auto bytes = from_hex("000102030405060708090a0b0c0d0e0f");
  std::copy_n(bytes.begin(), key.size(), key.begin());
  EXPECT_EQ(copied(previous_chain_key(k_test_channel, key)),
            from_hex("f2a33fbb22520f88b5a86ffe23dabb3c"));
  const MacKey mac_key = mac_key_of(k_test_channel, key);
  EXPECT_EQ(copied(mac_key), from_hex("5f479f065aa7b19915e612b5c1ca1efb"));
  std::vector<std::uint8_t> packet(24, 0x11);
  store(packet.data() + 20, std::uint32_t{7});
  const auto mac = make_packet_mac();
  mac->set_key(mac_key);
  EXPECT_EQ(copied(mac->tag(packet, 0x1234)), from_hex("386b14e010f09da2f4a05e8be4fb48c7"));
}

}  // namespace
}  // namespace sheaf::quic
