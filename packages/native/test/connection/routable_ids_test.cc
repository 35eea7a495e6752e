#include "connection/routable_ids.h"

#include <gtest/gtest.h>

#include <set>

#include "crypto/server_secrets.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_first_nonce = 1'800'000'000'000'000'000;

RoutableIds ids_of(const std::vector<std::uint8_t>& server, bool encrypted,
                   std::uint8_t secret = 2) {
  return RoutableIds({.id = server, .encrypted = encrypted}, server_secret(secret), secret,
                     std::make_shared<RoutableIds::Nonces>(RoutableIds::Nonces{k_first_nonce}));
}

TEST(RoutableIds, TellTheirSecretAndTheirLength) {
  SeededRandom random(1);
  for (std::size_t length = 1; length <= RoutableIds::k_max_server_id; ++length) {
    RoutableIds ids = ids_of(std::vector<std::uint8_t>(length, 9), true);
    const ConnectionId id = ids.make(random);
    EXPECT_EQ(id.length, 1 + length + RoutableIds::k_nonce_length + 1);
    EXPECT_EQ(id.bytes[0] >> 5, 2);
    EXPECT_EQ(id.bytes[0] & 0x1f, id.length - 1);
  }
}

// This is what a balancer with the key does.
TEST(RoutableIds, ABalancerWithTheKeyFindsTheServer) {
  SeededRandom random(1);
  const std::vector<std::uint8_t> server = {1, 2, 3, 4, 5, 6, 7, 8};
  ConnectionId id = ids_of(server, true).make(random);
  const std::size_t length = server.size() + RoutableIds::k_nonce_length;
  QuicLbCipher cipher(balancer_key(server_secret(2)), length);
  const MutableBytes routed = MutableBytes(id.bytes).subspan(1, length);
  EXPECT_FALSE(std::ranges::equal(routed.first(server.size()), server));
  cipher.decrypt(routed);
  EXPECT_TRUE(std::ranges::equal(routed.first(server.size()), server));
}

TEST(RoutableIds, WithoutEncryptionTheServerFollowsTheFirstByte) {
  SeededRandom random(1);
  const std::vector<std::uint8_t> server = {1, 2, 3, 4, 5, 6, 7, 8};
  const ConnectionId id = ids_of(server, false).make(random);
  EXPECT_TRUE(std::ranges::equal(id.view().subspan(1, server.size()), server));
}

TEST(RoutableIds, NoNonceComesTwiceOrTellsTheNextOne) {
  SeededRandom random(1);
  for (const bool encrypted : {false, true}) {
    RoutableIds ids = ids_of({7}, encrypted);
    std::set<ConnectionId> seen;
    std::array<std::set<std::uint8_t>, RoutableIds::k_nonce_length> values;
    for (int i = 0; i < 2000; ++i) {
      const ConnectionId id = ids.make(random);
      ASSERT_TRUE(seen.insert(id).second);
      for (std::size_t at = 0; at < values.size(); ++at) values[at].insert(id.bytes[2 + at]);
    }
    for (const auto& each : values) EXPECT_GT(each.size(), 200u);
  }
}

TEST(RoutableIds, EndpointsOfOneServerShareNoNonce) {
  constexpr std::uint64_t k_endpoints = 4;
  std::set<std::uint64_t> seen;
  for (std::uint64_t endpoint = 0; endpoint < k_endpoints; ++endpoint) {
    RoutableIds::Server server{.id = {7}, .first_nonce = k_first_nonce + 8 * endpoint};
    server.nonces_of(endpoint, k_endpoints);
    RoutableIds::Nonces nonces{server.first_nonce, server.nonce_step};
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(seen.insert(nonces.take()).second);
  }
}

TEST(RoutableIds, KnowTheirOwn) {
  SeededRandom random(1);
  for (const bool encrypted : {false, true}) {
    RoutableIds ids = ids_of({7, 8}, encrypted);
    RoutableIds other_server = ids_of({7, 9}, encrypted);
    RoutableIds other_secret = ids_of({7, 8}, encrypted, 3);
    const ConnectionId id = ids.make(random);
    EXPECT_TRUE(ids.made(id));
    EXPECT_FALSE(other_server.made(id));
    EXPECT_FALSE(other_secret.made(id));
    EXPECT_FALSE(ids.made(ConnectionId(id.view().first(8))));
    EXPECT_FALSE(ids.made({}));
  }
}

}  // namespace
}  // namespace sheaf::quic
