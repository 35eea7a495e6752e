#include "io/socket_address.h"

#include <gtest/gtest.h>
#include <net/if.h>

namespace sheaf::io {
namespace {

using quic::Address;

TEST(SocketAddress, ParsesBothFamilies) {
  EXPECT_EQ(quic::to_string(*parse_address("127.0.0.1", 7)), "127.0.0.1:7");
  EXPECT_EQ(quic::to_string(*parse_address("2001:db8::1", 7)), "[2001:db8::1]:7");
  EXPECT_FALSE(parse_address("localhost", 7));
  EXPECT_FALSE(parse_address("", 7));
}

// RFC 4007 §11: a zone is given by its name or its index, and returned by its name.
TEST(SocketAddress, LinkLocalAddressesHaveAZone) {
  const unsigned loopback = if_nametoindex("lo");
  ASSERT_NE(loopback, 0u);
  const auto named = parse_address("fe80::1%lo", 7);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->scope_id, loopback);
  EXPECT_EQ(parse_address("fe80::1%" + std::to_string(loopback), 7), named);
  EXPECT_EQ(ip_string(*named), "fe80::1%lo");
  EXPECT_EQ(ip_string(*parse_address("fe80::1", 7)), "fe80::1");
}

TEST(SocketAddress, AZoneThatIsNotHereIsNone) {
  EXPECT_FALSE(parse_address("fe80::1%no-such-link", 7));
  EXPECT_FALSE(parse_address("fe80::1%", 7));
  EXPECT_FALSE(parse_address("fe80::1%0", 7));
  EXPECT_FALSE(parse_address("fe80::1%1x", 7));
  EXPECT_FALSE(parse_address("2001:db8::1%lo", 7));
  EXPECT_FALSE(parse_address("127.0.0.1%lo", 7));
}

TEST(SocketAddress, ALinkLocalPeerIsOnTheLinkOfTheOwnAddress) {
  const Address local = *parse_address("fe80::1%lo", 0);
  const Address remote = *parse_address("fe80::2", 7);
  EXPECT_EQ(on_link_of(remote, local).scope_id, local.scope_id);
  const Address global = *parse_address("2001:db8::1", 7);
  EXPECT_EQ(on_link_of(global, local), global);
}

// The system refuses it, where the first bytes would be the address of a stranger.
TEST(SocketAddress, AnIpv6AddressStaysOneForAnIpv4Socket) {
  sockaddr_storage storage;
  const auto address = *parse_address("7f00:1::1", 4433);
  EXPECT_EQ(to_sockaddr(address, false, storage), sizeof(sockaddr_in6));
  EXPECT_EQ(from_sockaddr(storage), address);
}

TEST(SocketAddress, KeepsTheZoneForTheKernelAndBack) {
  const Address address = *parse_address("fe80::1%lo", 7);
  sockaddr_storage storage;
  to_sockaddr(address, true, storage);
  EXPECT_EQ(from_sockaddr(storage), address);
}

}  // namespace
}  // namespace sheaf::io
