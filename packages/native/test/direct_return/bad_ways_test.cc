#include "direct_return/bad_ways.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

Address ipv4(std::uint8_t third, std::uint8_t last) {
  return {.ip = {203, 0, third, last}, .port = last, .family = Address::Family::kIpv4};
}
Address ipv6(std::uint8_t seventh, std::uint8_t last) {
  Address address{.ip = {0x20, 1, 0xd, 0xb8, 0, 0, seventh}, .family = Address::Family::kIpv6};
  address.ip[15] = last;
  return address;
}

TEST(BadWays, AreRememberedForABackendAndANetwork) {
  BadWays ways;
  const Time now(1h);
  ways.remember(3, ipv4(113, 9), now);
  ways.remember(3, ipv6(1, 9), now);
  EXPECT_TRUE(ways.is_bad(3, ipv4(113, 200), now));
  EXPECT_FALSE(ways.is_bad(3, ipv4(114, 9), now));
  EXPECT_FALSE(ways.is_bad(2, ipv4(113, 9), now));
  EXPECT_TRUE(ways.is_bad(3, ipv6(1, 200), now));
  EXPECT_FALSE(ways.is_bad(3, ipv6(2, 9), now));
  EXPECT_TRUE(ways.is_bad(3, ipv4(113, 9), now + 10min - 1ns));
  EXPECT_FALSE(ways.is_bad(3, ipv4(113, 9), now + 10min));
}

TEST(BadWays, AreRememberedOnceAndRenewed) {
  BadWays ways;
  ways.remember(3, ipv4(113, 9), Time(1h));
  ways.remember(3, ipv4(113, 8), Time(1h + 9min));
  EXPECT_EQ(ways.size(), 1u);
  EXPECT_TRUE(ways.is_bad(3, ipv4(113, 9), Time(1h + 18min)));
  ways.remember(4, ipv4(113, 8), Time(1h + 20min));
  EXPECT_EQ(ways.size(), 1u);  // the other is over
}

TEST(BadWays, AreBounded) {
  BadWays ways;
  for (std::uint32_t backend = 0; backend <= BadWays::k_max_ways; ++backend) {
    ways.remember(backend, ipv4(113, 9), Time(1h));
  }
  EXPECT_EQ(ways.size(), BadWays::k_max_ways);
  EXPECT_FALSE(ways.is_bad(0, ipv4(113, 9), Time(1h)));
  EXPECT_TRUE(ways.is_bad(1, ipv4(113, 9), Time(1h)));
}

}  // namespace
}  // namespace sheaf::quic
