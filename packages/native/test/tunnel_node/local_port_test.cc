#include "tunnel_node/local_port.h"

#include <gtest/gtest.h>

#include "io/bound_socket.h"
#include "io/descriptor.h"
#include "tunnel_node/tunnel_nodes.h"

namespace sheaf::tunnel_node {
namespace {

// A local port of a client of a proxy. The request is that of the fixture, whose other side shows
// what comes through the tunnel.
class LocalPorts : public TunnelNodes {
 protected:
  void SetUp() override {
    TunnelNodes::SetUp();
    auto opened = LocalPort::open({*node, ends, called->loop(), answering->driver},
                                  *io::parse_address("127.0.0.1", 0));
    ASSERT_TRUE(opened);
    number = ends.keep(std::move(*opened));
  }

  LocalPort& port() { return static_cast<LocalPort&>(*ends.port(number)); }
  static std::unique_ptr<io::UdpSocket> make_peer() {
    return std::move(*io::UdpSocket::open(*io::parse_address("127.0.0.1", 0), {}));
  }
  void send_from(io::UdpSocket& peer, std::size_t size, std::uint8_t content = 'p',
                 quic::Ecn ecn = quic::Ecn::kNotEct) {
    std::vector<std::uint8_t> packet(size, content);
    quic::TransmitBatch batch;
    batch.buffer = packet;
    batch.size = batch.segment_size = size;
    batch.path.remote = port().address();
    batch.ecn = ecn;
    EXPECT_EQ(peer.send(batch), io::SendOutcome::kSent);
  }
  std::vector<LocalPort::FlowId> new_peers() {
    std::vector<LocalPort::FlowId> peers;
    ends.take_new_flows([&](std::size_t, const auto& flow) { peers.push_back(flow.id); });
    return peers;
  }
  // Waits for so many peers that nobody was told of.
  std::vector<LocalPort::FlowId> wait_for_peers(std::size_t count) {
    std::vector<LocalPort::FlowId> all;
    EXPECT_TRUE(run_until([&] {
      for (const auto peer : new_peers()) all.push_back(peer);
      return all.size() == count;
    }));
    return all;
  }
  TunnelEnd* forward(LocalPort::FlowId peer) {
    auto opened = port().open(peer, end_place(), settings, io::monotonic_now());
    if (!opened || !*opened) return nullptr;
    TunnelEnd& end = ends.keep(std::move(*opened));
    port().give(peer, end, io::monotonic_now());
    return &end;
  }

  TunnelSettings settings;
  std::size_t number = 0;
};

TEST_F(LocalPorts, TellsEachPeerOnce) {
  const auto one = make_peer();
  const auto other = make_peer();
  send_from(*one, 100);
  send_from(*one, 100);
  send_from(*other, 100);
  const auto peers = wait_for_peers(2);
  EXPECT_EQ(port().find(peers[0]), one->local_address());
  EXPECT_EQ(port().find(peers[1]), other->local_address());
  port().refuse(peers[0]);
  EXPECT_EQ(port().find(peers[0]), std::nullopt);
  send_from(*one, 100);
  EXPECT_EQ(port().find(wait_for_peers(1)[0]), one->local_address());
}

TEST_F(LocalPorts, GivesATunnelWhatCameBeforeItAndAfterIt) {
  const auto peer = make_peer();
  for (std::uint8_t i = 0; i < 5; ++i) send_from(*peer, 200, i);
  const auto peers = wait_for_peers(1);
  // One that has come, and was not read
  send_from(*peer, 200, 5);
  ASSERT_TRUE(forward(peers[0]));
  EXPECT_EQ(port().find(peers[0]), std::nullopt);
  for (std::uint8_t i = 6; i < 10; ++i) send_from(*peer, 200, i);
  ASSERT_TRUE(run_until([&] { return at_client.size() == 10; }));
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(at_client[i][1], i);
  EXPECT_TRUE(new_peers().empty());
}

TEST_F(LocalPorts, AnswersFromThePortThatThePeerKnows) {
  const auto peer = make_peer();
  send_from(*peer, 200);
  ASSERT_TRUE(forward(wait_for_peers(1)[0]));
  send(payload_datagram(300));
  std::optional<quic::Address> from;
  ASSERT_TRUE(run_until([&] {
    peer->receive([&](const quic::Datagram& datagram) { from = datagram.path.remote; });
    return from.has_value();
  }));
  EXPECT_EQ(from, port().address());
  // Another peer is another one, although the port is the same.
  const auto other = make_peer();
  send_from(*other, 200);
  EXPECT_EQ(port().find(wait_for_peers(1)[0]), other->local_address());
}

TEST_F(LocalPorts, CarriesMarksBothWays) {
  settings.contexts = {tunnel_request::PayloadContexts::Side::kClient, {0, 3, 5, 7}};
  const auto peer = make_peer();
  send_from(*peer, 200, 'p', quic::Ecn::kEct1);  // waits for its tunnel
  ASSERT_TRUE(forward(wait_for_peers(1)[0]));
  send_from(*peer, 200, 'p', quic::Ecn::kEct0);
  send_from(*peer, 200);
  ASSERT_TRUE(run_until([&] { return at_client.size() == 3; }));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(at_client[i][0], (std::array{2, 4, 0}[i]));
  std::vector<std::uint8_t> datagram = payload_datagram(300);
  datagram[0] = 7;
  send(datagram);
  std::optional<quic::Ecn> mark;
  ASSERT_TRUE(run_until([&] {
    peer->receive([&](const quic::Datagram& packet) { mark = packet.ecn; });
    return mark.has_value();
  }));
  EXPECT_EQ(mark, quic::Ecn::kCe);
}

TEST_F(LocalPorts, KeepsABoundedNumberOfPeersAndBytes) {
  std::vector<std::unique_ptr<io::UdpSocket>> peers;
  for (std::size_t i = 0; i < LocalPort::k_max_waiting_peers; ++i) {
    peers.push_back(make_peer());
    send_from(*peers.back(), 100);
  }
  const auto known = wait_for_peers(LocalPort::k_max_waiting_peers);
  const auto late = make_peer();
  send_from(*late, 100);
  for (int i = 0; i < 100; ++i) send_from(*peers[0], 1000);
  int turns = 0;
  ASSERT_TRUE(run_until([&] { return ++turns == 20; }));
  EXPECT_TRUE(new_peers().empty());
  port().refuse(known[1]);
  send_from(*peers[1], 100);
  EXPECT_EQ(port().find(wait_for_peers(1)[0]), peers[1]->local_address());
  ASSERT_TRUE(forward(known[0]));
  ASSERT_TRUE(run_until([&] { return !at_client.empty(); }));
  const tunnel::Counts counts = node->counts();
  EXPECT_LE(counts.to_client.bytes, LocalPort::k_max_waiting_bytes);
  EXPECT_GT(counts.to_client.bytes, LocalPort::k_max_waiting_bytes / 2);
}

TEST_F(LocalPorts, ATakenPortIsRefused) {
  auto opened = LocalPort::open({*node, ends, called->loop(), answering->driver}, port().address());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().number, EADDRINUSE);
}

// Another connection goes on with the port at once.
TEST_F(LocalPorts, EndsItsTunnelsAndIsFreeOnceItIsClosed) {
  const auto peer = make_peer();
  send_from(*peer, 200);
  ASSERT_TRUE(forward(wait_for_peers(1)[0]));
  const quic::Address address = port().address();
  ends.close_port(number);
  EXPECT_TRUE(LocalPort::open({*node, ends, called->loop(), answering->driver}, address));
  ASSERT_TRUE(run_until([&] { return !over.empty(); }));
  EXPECT_EQ(over, std::vector{TunnelOver::kClosed});
}

// Another process goes on with the port, and peers that have tunnels keep them.
TEST_F(LocalPorts, LeavesItsTunnelsAndABoundSocket) {
  const auto bound = io::open_bound_udp(*io::parse_address("127.0.0.1", 0));
  ASSERT_TRUE(bound);
  const io::Descriptor owned(bound->descriptor);
  const auto open = [&] {
    auto opened = LocalPort::open({*node, ends, called->loop(), answering->driver}, bound->local,
                                  owned.number());
    ASSERT_TRUE(opened);
    number = ends.keep(std::move(*opened));
  };
  ends.close_port(number);
  open();
  const auto peer = make_peer();
  send_from(*peer, 200, 0);
  ASSERT_TRUE(forward(wait_for_peers(1)[0]));
  const auto other = make_peer();
  send_from(*other, 100);
  port().leave_tunnels();
  ends.close_port(number);
  open();
  EXPECT_EQ(port().find(wait_for_peers(1)[0]), other->local_address());
  send_from(*peer, 200, 1);
  ASSERT_TRUE(run_until([&] { return at_client.size() == 2; }));
  EXPECT_EQ(at_client[1][1], 1);
  EXPECT_TRUE(new_peers().empty());
  EXPECT_TRUE(over.empty());
}

}  // namespace
}  // namespace sheaf::tunnel_node
