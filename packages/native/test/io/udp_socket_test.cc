#include "io/udp_socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "io/socket_address.h"
#include "io/udp_batches.h"

namespace sheaf::io {
namespace {

using quic::Address;
using quic::Ecn;

struct Route {
  const char* name;
  const char* server;       // bound to
  const char* destination;  // sent to
  const char* client;
};

class UdpSocketTest : public testing::TestWithParam<std::tuple<Route, bool>> {
 protected:
  void SetUp() override {
    server = open_socket(route().server, options());
    client = open_socket(route().client, options());
    ASSERT_TRUE(server && client);
    destination = *parse_address(route().destination, server->local_address().port);
  }
  static Route route() { return std::get<0>(GetParam()); }
  static UdpSocketOptions options() { return {.segmentation_offload = std::get<1>(GetParam())}; }

  SendOutcome send(Batch& batch, Ecn ecn = Ecn::kNotEct) {
    batch.value.path.remote = destination;
    batch.value.ecn = ecn;
    return client->send(batch.value);
  }

  std::unique_ptr<UdpSocket> server;
  std::unique_ptr<UdpSocket> client;
  Address destination;
};

TEST_P(UdpSocketTest, DeliversOneDatagram) {
  Batch batch(1, 1200, 1200);
  ASSERT_EQ(send(batch), SendOutcome::kSent);
  expect_segments(receive(*server, 1), batch);
}

TEST_P(UdpSocketTest, DeliversABatchSegmentBySegment) {
  Batch batch(32, 1350, 700);
  ASSERT_EQ(send(batch), SendOutcome::kSent);
  expect_segments(receive(*server, 32), batch);
}

TEST_P(UdpSocketTest, SplitsWhatOneCallCannotCarry) {
  Batch batch(150, 1452, 3);  // more segments, and more bytes, than the kernel takes at once
  ASSERT_EQ(send(batch), SendOutcome::kSent);
  expect_segments(receive(*server, 150), batch);
}

TEST_P(UdpSocketTest, DeliversManySmallSegments) {
  Batch batch(64, 25, 25);
  ASSERT_EQ(send(batch), SendOutcome::kSent);
  expect_segments(receive(*server, 64), batch);
}

TEST_P(UdpSocketTest, CarriesEcnMarks) {
  for (Ecn ecn : {Ecn::kNotEct, Ecn::kEct0, Ecn::kEct1, Ecn::kCe}) {
    Batch batch(3, 1200, 100);
    ASSERT_EQ(send(batch, ecn), SendOutcome::kSent);
    const auto datagrams = receive(*server, 3);
    expect_segments(datagrams, batch);
    for (const auto& datagram : datagrams) EXPECT_EQ(datagram.ecn, ecn);
  }
}

TEST_P(UdpSocketTest, KnowsBothAddressesAndAnswersFromTheSame) {
  Batch batch(2, 1200, 1200);
  ASSERT_EQ(send(batch), SendOutcome::kSent);
  const auto datagrams = receive(*server, 2);
  ASSERT_EQ(datagrams.size(), 2u);
  EXPECT_EQ(datagrams[0].path.local, destination);
  EXPECT_EQ(datagrams[0].path.remote.port, client->local_address().port);

  Batch answer(2, 1000, 10);
  answer.value.path = datagrams[0].path;
  answer.value.ecn = Ecn::kEct0;
  ASSERT_EQ(server->send(answer.value), SendOutcome::kSent);
  const auto answers = receive(*client, 2);
  expect_segments(answers, answer);
  EXPECT_EQ(answers[0].path.remote, destination);
  EXPECT_EQ(answers[0].ecn, Ecn::kEct0);
}

// This socket must not offload, as with some network devices: the kernel refuses, and the batch
// arrives all the same.
TEST_P(UdpSocketTest, SendsOneByOneWhenOffloadIsRefused) {
  const int disabled = 1;
  ASSERT_EQ(setsockopt(client->descriptor(), SOL_SOCKET, SO_NO_CHECK, &disabled, sizeof disabled),
            0);
  Batch batch(100, 1200, 9);
  ASSERT_EQ(send(batch), SendOutcome::kSent);
  expect_segments(receive(*server, 100), batch);
}

TEST_P(UdpSocketTest, DropsWhatIsTooLarge) {
  Batch batch(1, 65536, 65536);
  EXPECT_EQ(send(batch), SendOutcome::kDropped);
  Batch next(1, 1200, 1200);
  EXPECT_EQ(send(next), SendOutcome::kSent);
  expect_segments(receive(*server, 1), next);
}

// One system call returns at most 16 messages, and a coalesced message holds a whole batch.
TEST_P(UdpSocketTest, ReceivesCoalescedBatches) {
  Batch batch(32, 1350, 1350);
  ASSERT_EQ(send(batch), SendOutcome::kSent);
  pollfd readable{server->descriptor(), POLLIN, 0};
  ASSERT_EQ(poll(&readable, 1, 10'000), 1);
  const std::size_t received = server->receive([](const quic::Datagram&) {});
  if (options().segmentation_offload) {
    EXPECT_EQ(received, 32u);
  } else {
    EXPECT_LE(received, 16u);
  }
}

TEST_P(UdpSocketTest, NothingToReceiveIsNoDatagram) {
  EXPECT_EQ(server->receive([](const quic::Datagram&) { FAIL(); }), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Loopback, UdpSocketTest,
    testing::Combine(testing::Values(Route{"Ipv4", "127.0.0.1", "127.0.0.1", "127.0.0.1"},
                                     Route{"Ipv4Any", "0.0.0.0", "127.0.0.2", "127.0.0.1"},
                                     Route{"Ipv6", "::1", "::1", "::1"},
                                     Route{"Ipv6Any", "::", "::1", "::"},
                                     Route{"Ipv4ToDualStack", "::", "127.0.0.1", "127.0.0.1"},
                                     Route{"DualStackToIpv4", "127.0.0.1", "127.0.0.1", "::"}),
                     testing::Bool()),
    [](const auto& parameter) {
      return std::string(std::get<0>(parameter.param).name) +
             (std::get<1>(parameter.param) ? "Offloaded" : "Plain");
    });

TEST(UdpSocket, NamesTheErrorAndTheAddress) {
  const auto first = open_socket("127.0.0.1");
  const auto second = UdpSocket::open(first->local_address(), {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().number, EADDRINUSE);
  EXPECT_NE(second.error().message.find("EADDRINUSE"), std::string::npos);
  EXPECT_NE(second.error().message.find(to_string(first->local_address())), std::string::npos);
}

TEST(UdpSocket, RefusesAnAddressOfAnotherHost) {
  const auto socket = UdpSocket::open(*parse_address("203.0.113.7", 0), {});
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().number, EADDRNOTAVAIL);
}

TEST(UdpSocket, SharesAPortWhenAsked) {
  const UdpSocketOptions options{.reuse_port = true};
  const auto first = open_socket("127.0.0.1", options);
  EXPECT_TRUE(open_socket("127.0.0.1", options, first->local_address().port));
}

TEST(UdpSocket, AnIpv4SocketDropsWhatGoesToIpv6) {
  const auto socket = open_socket("127.0.0.1");
  Batch batch(2, 1200, 1200);
  batch.value.path.remote = *parse_address("::1", 4433);
  EXPECT_EQ(socket->send(batch.value), SendOutcome::kDropped);
}

TEST(UdpSocket, NeverFragments) {
  const auto socket = open_socket("::");
  int value = 0;
  socklen_t length = sizeof value;
  getsockopt(socket->descriptor(), IPPROTO_IP, IP_MTU_DISCOVER, &value, &length);
  EXPECT_EQ(value, IP_PMTUDISC_PROBE);
  getsockopt(socket->descriptor(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, &value, &length);
  EXPECT_EQ(value, IPV6_PMTUDISC_PROBE);
}

}  // namespace
}  // namespace sheaf::io
