#include "util/address.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sheaf::quic {
namespace {

Address ipv6(std::initializer_list<std::uint16_t> groups, std::uint16_t port) {
  Address address{.port = port, .family = Address::Family::kIpv6};
  auto byte = address.ip.begin();
  for (std::uint16_t group : groups) {
    *byte++ = static_cast<std::uint8_t>(group >> 8);
    *byte++ = static_cast<std::uint8_t>(group);
  }
  return address;
}

TEST(Address, WritesIpv4) {
  const Address address{.ip = {192, 0, 2, 255}, .port = 4433, .family = Address::Family::kIpv4};
  EXPECT_EQ(to_string(address), "192.0.2.255:4433");
}

TEST(Address, WritesNothingForNoAddress) { EXPECT_EQ(to_string(Address{}), "none"); }

// RFC 5952 §4.
TEST(Address, ShortensIpv6) {
  EXPECT_EQ(to_string(ipv6({0, 0, 0, 0, 0, 0, 0, 0}, 1)), "[::]:1");
  EXPECT_EQ(to_string(ipv6({0, 0, 0, 0, 0, 0, 0, 1}, 443)), "[::1]:443");
  EXPECT_EQ(to_string(ipv6({0x2001, 0xdb8, 0, 0, 0, 0, 2, 1}, 1)), "[2001:db8::2:1]:1");
  EXPECT_EQ(to_string(ipv6({0x2001, 0, 0, 1, 0, 0, 0, 1}, 1)), "[2001:0:0:1::1]:1");
  EXPECT_EQ(to_string(ipv6({0x2001, 0xdb8, 0, 0, 1, 0, 0, 1}, 1)), "[2001:db8::1:0:0:1]:1");
  EXPECT_EQ(to_string(ipv6({0xfe80, 0, 0, 0, 0, 0, 0, 0}, 1)), "[fe80::]:1");
}

TEST(Address, KeepsASingleZeroGroup) {
  EXPECT_EQ(to_string(ipv6({0x2001, 0xdb8, 0, 1, 1, 1, 1, 1}, 1)), "[2001:db8:0:1:1:1:1:1]:1");
}

TEST(Address, NamesTheScope) {
  Address address = ipv6({0xfe80, 0, 0, 0, 0, 0, 0, 1}, 9);
  address.scope_id = 3;
  EXPECT_EQ(to_string(address), "[fe80::1%3]:9");
}

TEST(Address, SameIpIgnoresThePort) {
  Address a = ipv6({1, 2, 3, 4, 5, 6, 7, 8}, 1);
  Address b = a;
  b.port = 2;
  EXPECT_TRUE(a.same_ip(b));
  EXPECT_NE(a, b);
}

TEST(Address, DiffersByAnyOfItsParts) {
  const Address address = ipv6({1, 2, 3, 4, 5, 6, 7, 8}, 1);
  EXPECT_EQ(address, Address(address));
  for (std::size_t byte = 0; byte < address.ip.size(); ++byte) {
    Address other = address;
    other.ip[byte] ^= 0x80;
    EXPECT_NE(address, other) << byte;
    EXPECT_FALSE(address.same_ip(other)) << byte;
  }
  Address other = address;
  other.scope_id = 1;
  EXPECT_NE(address, other);
  other = address;
  other.family = Address::Family::kIpv4;
  EXPECT_NE(address, other);
  EXPECT_FALSE(address.same_ip(other));
}

}  // namespace
}  // namespace sheaf::quic
