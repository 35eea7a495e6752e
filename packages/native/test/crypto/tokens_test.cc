#include "crypto/tokens.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

const std::vector<std::uint8_t> k_secret(32, 9);
const Address k_remote{.ip = {192, 0, 2, 7}, .port = 5000, .family = Address::Family::kIpv4};
const Address k_remote_ipv6{
    .ip = {0x20, 1, 0xd, 0xb8}, .port = 5000, .family = Address::Family::kIpv6};
const ConnectionId k_retry_source(std::array<std::uint8_t, 8>{1, 2, 3, 4, 5, 6, 7, 8});
const ConnectionId k_original(std::array<std::uint8_t, 10>{9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
constexpr Time k_now{std::chrono::hours(1000)};
constexpr Duration k_lifetime = std::chrono::seconds(10);

std::vector<std::uint8_t> retry_token(const Address& remote = k_remote) {
  return make_retry_token(k_secret, k_version_1, remote, k_retry_source, k_original, k_now);
}

TEST(Tokens, RetryTokenGivesTheOriginalDestination) {
  for (const Address& remote : {k_remote, k_remote_ipv6}) {
    const auto token = retry_token(remote);
    EXPECT_TRUE(is_retry_token(token));
    const auto original = verify_retry_token(k_secret, k_version_1, token, remote, k_retry_source,
                                             k_lifetime, k_now + std::chrono::seconds(9));
    ASSERT_TRUE(original);
    EXPECT_EQ(*original, k_original);
  }
}

TEST(Tokens, RetryTokenIsBoundToAllThatItWasMadeOf) {
  const auto token = retry_token();
  const auto verify = [&](Bytes secret, std::uint32_t version, const Address& remote,
                          const ConnectionId& destination, Time now) {
    return verify_retry_token(secret, version, token, remote, destination, k_lifetime, now)
        .has_value();
  };
  Address other_port = k_remote;
  other_port.port = 5001;
  const std::vector<std::uint8_t> other_secret(32, 8);
  EXPECT_TRUE(verify(k_secret, k_version_1, k_remote, k_retry_source, k_now));
  EXPECT_FALSE(verify(other_secret, k_version_1, k_remote, k_retry_source, k_now));
  EXPECT_FALSE(verify(k_secret, k_version_2, k_remote, k_retry_source, k_now));
  EXPECT_FALSE(verify(k_secret, k_version_1, other_port, k_retry_source, k_now));
  EXPECT_FALSE(verify(k_secret, k_version_1, k_remote_ipv6, k_retry_source, k_now));
  EXPECT_FALSE(verify(k_secret, k_version_1, k_remote, k_original, k_now));
  EXPECT_FALSE(
      verify(k_secret, k_version_1, k_remote, k_retry_source, k_now + std::chrono::seconds(11)));
}

TEST(Tokens, AddressTokenIsBoundToAddressVersionAndTime) {
  const auto token = make_address_token(k_secret, k_remote, k_now);
  EXPECT_FALSE(is_retry_token(token));
  const auto later = k_now + std::chrono::seconds(5);
  EXPECT_TRUE(verify_address_token(k_secret, token, k_remote, k_lifetime, later));
  Address other_port = k_remote;
  other_port.port = 1;  // a NAT may change it
  EXPECT_TRUE(verify_address_token(k_secret, token, other_port, k_lifetime, later));
  Address other_ip = k_remote;
  other_ip.ip[3] = 8;
  EXPECT_FALSE(verify_address_token(k_secret, token, other_ip, k_lifetime, later));
  EXPECT_FALSE(verify_address_token(k_secret, token, k_remote, k_lifetime, later, k_version_2));
  EXPECT_FALSE(verify_address_token(k_secret, token, k_remote, k_lifetime,
                                    k_now + std::chrono::seconds(11)));
  EXPECT_FALSE(
      verify_address_token(std::vector<std::uint8_t>(32, 1), token, k_remote, k_lifetime, later));
}

TEST(Tokens, DamagedTokensAreRefused) {
  const auto retry = retry_token();
  const auto address = make_address_token(k_secret, k_remote, k_now);
  for (std::size_t i = 0; i < retry.size(); ++i) {
    auto copy = retry;
    copy[i] ^= 0x40;
    EXPECT_FALSE(verify_retry_token(k_secret, k_version_1, copy, k_remote, k_retry_source,
                                    k_lifetime, k_now));
    copy = retry;
    copy.resize(i);
    EXPECT_FALSE(verify_retry_token(k_secret, k_version_1, copy, k_remote, k_retry_source,
                                    k_lifetime, k_now));
  }
  for (std::size_t i = 0; i < address.size(); ++i) {
    auto copy = address;
    copy[i] ^= 0x40;
    EXPECT_FALSE(verify_address_token(k_secret, copy, k_remote, k_lifetime, k_now));
    copy = address;
    copy.resize(i);
    EXPECT_FALSE(verify_address_token(k_secret, copy, k_remote, k_lifetime, k_now));
  }
}

TEST(Tokens, StatelessResetTokenDependsOnKeyAndId) {
  EXPECT_EQ(stateless_reset_token(k_secret, k_original),
            stateless_reset_token(k_secret, k_original));
  EXPECT_NE(stateless_reset_token(k_secret, k_original),
            stateless_reset_token(k_secret, k_retry_source));
  EXPECT_NE(stateless_reset_token(k_secret, k_original),
            stateless_reset_token(std::vector<std::uint8_t>(32, 1), k_original));
}

}  // namespace
}  // namespace sheaf::quic
