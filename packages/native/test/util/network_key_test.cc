#include "util/network_key.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

Address ipv6(std::uint8_t seventh, std::uint8_t eighth, std::uint8_t last) {
  Address address{.port = 4433, .family = Address::Family::kIpv6};
  address.ip = {0x20, 0x01, 0x0d, 0xb8, 0, 0, seventh, eighth};
  address.ip.back() = last;
  return address;
}

Address ipv4(std::uint8_t last, std::uint16_t port) {
  Address address{.port = port, .family = Address::Family::kIpv4};
  address.ip = {192, 0, 2, last};
  return address;
}

TEST(NetworkKey, IsAnAddressOfIpv4WhateverThePort) {
  EXPECT_EQ(network_of(ipv4(1, 1000)), network_of(ipv4(1, 2000)));
  EXPECT_NE(network_of(ipv4(1, 1000)), network_of(ipv4(2, 1000)));
}

TEST(NetworkKey, IsFiftySixBitsOfIpv6) {
  EXPECT_EQ(network_of(ipv6(1, 0, 1)), network_of(ipv6(1, 0xff, 2)));
  EXPECT_NE(network_of(ipv6(1, 0, 1)), network_of(ipv6(2, 0, 1)));
}

TEST(NetworkKey, TellsFamiliesApart) {
  Address same_bytes = ipv4(1, 1000);
  same_bytes.family = Address::Family::kIpv6;
  EXPECT_NE(network_of(same_bytes), network_of(ipv4(1, 1000)));
}

}  // namespace
}  // namespace sheaf::quic
