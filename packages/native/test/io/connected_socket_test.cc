#include "io/connected_socket.h"

#include <gtest/gtest.h>

#include "io/socket_address.h"
#include "io/udp_socket.h"

namespace sheaf::io {
namespace {

std::vector<std::uint8_t> sized(std::size_t size) { return std::vector<std::uint8_t>(size, 'x'); }

TEST(DatagramRuns, JoinsDatagramsOfOneSize) {
  DatagramRuns runs;
  for (const std::size_t size : {1000, 1000, 1000, 500, 500, 700}) {
    ASSERT_TRUE(runs.append(sized(size)));
  }
  ASSERT_EQ(runs.runs().size(), 3u);  // a shorter one ends its run
  EXPECT_EQ(runs.runs()[0].segments(), 4u);
  EXPECT_EQ(runs.runs()[0].size, 3500u);
  EXPECT_EQ(runs.runs()[1].size, 500u);
  EXPECT_EQ(runs.runs()[2].size, 700u);
}

TEST(DatagramRuns, JoinsDatagramsOfOneMark) {
  using quic::Ecn;
  DatagramRuns runs;
  for (const Ecn ecn : {Ecn::kEct0, Ecn::kEct0, Ecn::kCe, Ecn::kEct0, Ecn::kNotEct}) {
    ASSERT_TRUE(runs.append(sized(1000), ecn));
  }
  ASSERT_EQ(runs.runs().size(), 4u);
  EXPECT_EQ(runs.runs()[0].segments(), 2u);
  EXPECT_EQ(runs.runs()[1].ecn, Ecn::kCe);
}

TEST(DatagramRuns, RefusesWhatFindsNoRoom) {
  DatagramRuns runs;
  EXPECT_TRUE(runs.append(sized(40000)));
  EXPECT_FALSE(runs.append(sized(40000)));
  runs.clear();
  EXPECT_TRUE(runs.append(sized(65507)));
  runs.clear();
  std::size_t taken = 0;
  while (runs.append(sized(1 + taken % 2 * 2000))) ++taken;
  EXPECT_LE(runs.runs().size(), DatagramRuns::k_runs);
}

TEST(DatagramRuns, AnEmptyDatagramIsARunOfItsOwn) {
  DatagramRuns runs;
  EXPECT_TRUE(runs.append({}));
  EXPECT_TRUE(runs.append({}));
  EXPECT_TRUE(runs.append(sized(3)));
  EXPECT_EQ(runs.runs().size(), 3u);
  EXPECT_EQ(runs.runs()[0].segments(), 1u);
}

class ConnectedSockets : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto bound = UdpSocket::open(*parse_address(GetParam(), 0), {});
    ASSERT_TRUE(bound);
    peer = std::move(*bound);
    auto opened = ConnectedSocket::open(peer->local_address());
    ASSERT_TRUE(opened);
    socket = std::move(*opened);
  }
  ConnectedSocket::Sent send(std::initializer_list<std::size_t> sizes) {
    for (const std::size_t size : sizes) EXPECT_TRUE(runs.append(sized(size)));
    return socket->send(runs, *buffers);
  }
  std::vector<std::size_t> at_peer() {
    std::vector<std::size_t> sizes;
    while (peer->receive([&](const quic::Datagram& datagram) {
      sizes.push_back(datagram.payload.size());
      EXPECT_EQ(datagram.path.remote, socket->local_address());
      marks.push_back(datagram.ecn);
    }) > 0) {
    }
    return sizes;
  }

  std::vector<quic::Ecn> marks;  // of what came to the peer
  DatagramRuns runs;
  ConnectedSocket::BuffersPointer buffers = ConnectedSocket::make_buffers();
  std::unique_ptr<UdpSocket> peer;
  std::unique_ptr<ConnectedSocket> socket;
};

TEST_P(ConnectedSockets, SendsRuns) {
  const auto sent = send({1000, 1000, 400, 1200, 0, 7});
  // UdpSocket does not report empty datagrams, and they carry nothing.
  EXPECT_EQ(at_peer(), (std::vector<std::size_t>{1000, 1000, 400, 1200, 7}));
  EXPECT_EQ(marks, std::vector<quic::Ecn>(5, quic::Ecn::kNotEct));
  EXPECT_EQ(sent.datagrams, 6u);
  EXPECT_EQ(sent.bytes, 3607u);
  EXPECT_EQ(sent.gone, 0);
  EXPECT_TRUE(runs.empty());
}

TEST_P(ConnectedSockets, SendsEachDatagramWithItsMark) {
  const std::vector<quic::Ecn> all{quic::Ecn::kEct1, quic::Ecn::kEct1, quic::Ecn::kCe,
                                   quic::Ecn::kNotEct, quic::Ecn::kEct0};
  for (const quic::Ecn ecn : all) EXPECT_TRUE(runs.append(sized(800), ecn));
  EXPECT_EQ(socket->send(runs, *buffers).datagrams, 5u);
  EXPECT_EQ(at_peer().size(), 5u);
  EXPECT_EQ(marks, all);
}

TEST_P(ConnectedSockets, ReceivesWhatTheKernelHasJoined) {
  std::vector<std::uint8_t> bytes(10 * 800);
  quic::TransmitBatch batch;
  batch.buffer = bytes;
  batch.size = bytes.size();
  batch.segment_size = 800;
  batch.ecn = quic::Ecn::kCe;
  batch.path.remote = socket->local_address();
  ASSERT_EQ(peer->send(batch), SendOutcome::kSent);
  std::size_t count = 0;
  const auto received = socket->receive(*buffers, [&](quic::Bytes datagram, quic::Ecn ecn) {
    EXPECT_EQ(datagram.size(), 800u);
    EXPECT_EQ(ecn, quic::Ecn::kCe);
    ++count;
  });
  EXPECT_EQ(count, 10u);
  EXPECT_EQ(received.gone, 0);
  EXPECT_EQ(socket->receive(*buffers, [](quic::Bytes, quic::Ecn) {}).messages, 0u);
}

TEST_P(ConnectedSockets, LearnsThatItsPeerIsGone) {
  peer.reset();
  EXPECT_EQ(send({10}).gone, 0);  // the ICMP message comes behind it
  EXPECT_EQ(socket->receive(*buffers, [](quic::Bytes, quic::Ecn) {}).gone, ECONNREFUSED);
  send({10});
  EXPECT_EQ(send({10}).gone, ECONNREFUSED);
}

INSTANTIATE_TEST_SUITE_P(Families, ConnectedSockets, testing::Values("127.0.0.1", "::1"));

}  // namespace
}  // namespace sheaf::io
