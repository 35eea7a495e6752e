#include "io/bound_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "io/descriptor.h"
#include "io/socket_address.h"
#include "io/tcp_listener.h"
#include "io/udp_socket.h"

namespace sheaf::io {
namespace {

TEST(BoundSocket, IsFoundByItsKind) {
  const auto listener = open_tcp_listener(*parse_address("127.0.0.1", 0), PortUse::kExclusive);
  ASSERT_TRUE(listener);
  const Descriptor owned(listener->descriptor);
  EXPECT_EQ(bound_socket(owned.number(), BoundKind::kTcp), (BoundSocket{listener->local, true}));
  EXPECT_EQ(bound_socket(owned.number(), BoundKind::kUdp), std::nullopt);
  for (const bool shared : {true, false}) {
    const auto opened = UdpSocket::open(*parse_address("::1", 0), {.reuse_port = shared});
    ASSERT_TRUE(opened);
    const int udp = (*opened)->descriptor();
    EXPECT_EQ(bound_socket(udp, BoundKind::kUdp),
              (BoundSocket{(*opened)->local_address(), shared}));
    EXPECT_EQ(bound_socket(udp, BoundKind::kTcp), std::nullopt);
  }
}

TEST(BoundSocket, OfUdpIsNotTaken) {
  const auto opened = open_bound_udp(*parse_address("127.0.0.1", 0));
  ASSERT_TRUE(opened);
  const Descriptor owned(opened->descriptor);
  EXPECT_EQ(bound_socket(owned.number(), BoundKind::kUdp), (BoundSocket{opened->local, true}));
  const auto again = open_bound_udp(opened->local);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().number, EADDRINUSE);
}

TEST(BoundSocket, IsNothingElse) {
  const auto expect_none = [](int descriptor) {
    EXPECT_EQ(bound_socket(descriptor, BoundKind::kTcp), std::nullopt);
    EXPECT_EQ(bound_socket(descriptor, BoundKind::kUdp), std::nullopt);
  };
  expect_none(-1);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  for (const int end : ends) expect_none(Descriptor(end).number());
  expect_none(Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)).number());
  const Descriptor unbound(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  expect_none(unbound.number());
}

}  // namespace
}  // namespace sheaf::io
