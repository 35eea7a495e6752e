#include "tunnel_node/relay_port.h"

#include <gtest/gtest.h>

#include "tunnel_node/tunnel_nodes.h"

namespace sheaf::tunnel_node {
namespace {

using tunnel::DropReason;

// A port where a program names the targets of its packets. The request is that of the fixture,
// whose other side shows what comes through the tunnel.
class RelayPorts : public TunnelNodes {
 protected:
  void SetUp() override {
    TunnelNodes::SetUp();
    auto opened =
        RelayPort::open({*node, ends, called->loop(), answering->driver}, loopback(), loopback());
    ASSERT_TRUE(opened);
    number = ends.keep(std::move(*opened));
    program = make_program();
  }

  static quic::Address loopback() { return *io::parse_address("127.0.0.1", 0); }
  static std::unique_ptr<io::UdpSocket> make_program() {
    return std::move(*io::UdpSocket::open(loopback(), {}));
  }
  ProgramPort& port() { return *ends.port(number); }
  static std::vector<std::uint8_t> packet_to(std::uint8_t host, std::size_t size,
                                             std::uint8_t content = 'p') {
    std::vector<std::uint8_t> packet{0, 0, 0, 1, 192, 0, 2, host, 1, 187};
    packet.insert(packet.end(), size, content);
    return packet;
  }
  void send_from(io::UdpSocket& from, std::vector<std::uint8_t> packet,
                 quic::Ecn ecn = quic::Ecn::kNotEct) {
    quic::TransmitBatch batch;
    batch.buffer = packet;
    batch.size = batch.segment_size = packet.size();
    batch.path.remote = port().address();
    batch.ecn = ecn;
    EXPECT_EQ(from.send(batch), io::SendOutcome::kSent);
  }
  std::vector<ProgramPort::NewFlow> wait_for_flows(std::size_t count) {
    std::vector<ProgramPort::NewFlow> all;
    EXPECT_TRUE(run_until([&] {
      ends.take_new_flows([&](std::size_t, const auto& flow) { all.push_back(flow); });
      return all.size() == count;
    }));
    return all;
  }
  TunnelEnd* forward(ProgramPort::FlowId flow) {
    auto opened = port().open(flow, end_place(), settings, io::monotonic_now());
    if (!opened || !*opened) return nullptr;
    TunnelEnd& end = ends.keep(std::move(*opened));
    port().give(flow, end, io::monotonic_now());
    return &end;
  }
  bool wait_for_drops(DropReason reason, std::uint64_t count) {
    return run_until([&] { return node->counts().dropped(reason) == count; });
  }

  TunnelSettings settings;
  std::size_t number = 0;
  std::unique_ptr<io::UdpSocket> program;
};

TEST_F(RelayPorts, AHeaderSelectsTheTunnelOfAPacketAndComesBackInFrontOfOthers) {
  send_from(*program, packet_to(1, 100, 0));
  send_from(*program, packet_to(2, 100));
  send_from(*program, packet_to(1, 100, 1));
  const auto flows = wait_for_flows(2);
  EXPECT_EQ(flows[0].host, "192.0.2.1");
  EXPECT_EQ(flows[0].port, 443);
  EXPECT_EQ(flows[1].host, "192.0.2.2");
  ASSERT_TRUE(forward(flows[0].id));
  send_from(*program, packet_to(1, 100, 2));
  send_from(*program, packet_to(2, 100));
  ASSERT_TRUE(run_until([&] { return at_client.size() == 3; }));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(at_client[i].size(), 101U);
    EXPECT_EQ(at_client[i][1], i);
  }
  send(payload_datagram(300, 'r'));
  send(payload_datagram(300, 'r'));
  std::vector<std::vector<std::uint8_t>> replies;
  ASSERT_TRUE(run_until([&] {
    program->receive([&](const quic::Datagram& datagram) {
      EXPECT_EQ(datagram.path.remote, port().address());
      replies.emplace_back(datagram.payload.begin(), datagram.payload.end());
    });
    return replies.size() == 2;
  }));
  EXPECT_EQ(replies[0], packet_to(1, 300, 'r'));
  EXPECT_EQ(replies[1], packet_to(1, 300, 'r'));
  EXPECT_EQ(node->counts().to_target.bytes, 600U);
}

TEST_F(RelayPorts, CarriesMarksBothWays) {
  settings.contexts = {tunnel_request::PayloadContexts::Side::kClient, {0, 3, 5, 7}};
  send_from(*program, packet_to(1, 100), quic::Ecn::kEct1);  // waits for its tunnel
  ASSERT_TRUE(forward(wait_for_flows(1)[0].id));
  send_from(*program, packet_to(1, 100), quic::Ecn::kCe);
  ASSERT_TRUE(run_until([&] { return at_client.size() == 2; }));
  EXPECT_EQ(at_client[0][0], 2);
  EXPECT_EQ(at_client[1][0], 6);
  auto datagram = payload_datagram(300);
  datagram[0] = 5;
  send(datagram);
  std::optional<quic::Ecn> mark;
  ASSERT_TRUE(run_until([&] {
    program->receive([&](const quic::Datagram& packet) { mark = packet.ecn; });
    return mark.has_value();
  }));
  EXPECT_EQ(mark, quic::Ecn::kEct0);
}

TEST_F(RelayPorts, DropsAndCountsFragmentsAndPacketsWithoutATarget) {
  auto fragment = packet_to(1, 100);
  fragment[2] = 1;
  send_from(*program, fragment);
  EXPECT_TRUE(wait_for_drops(DropReason::kFragment, 1));
  send_from(*program, {0, 0, 0});
  send_from(*program, {0, 0, 0, 9, 1, 2, 3});
  EXPECT_TRUE(wait_for_drops(DropReason::kBadHeader, 2));
}

TEST_F(RelayPorts, HearsTheProgramThatSendsFirstAlone) {
  send_from(*program, packet_to(1, 100));
  wait_for_flows(1);
  const auto other = make_program();
  send_from(*other, packet_to(2, 100));
  send_from(*program, packet_to(3, 100));
  EXPECT_EQ(wait_for_flows(1)[0].host, "192.0.2.3");
}

TEST_F(RelayPorts, KeepsABoundedNumberOfTargets) {
  for (std::size_t i = 0; i < RelayPort::k_max_waiting_targets; ++i) {
    send_from(*program, packet_to(static_cast<std::uint8_t>(i), 100));
  }
  const auto flows = wait_for_flows(RelayPort::k_max_waiting_targets);
  send_from(*program, packet_to(200, 100));
  EXPECT_TRUE(wait_for_drops(DropReason::kNoTunnel, 1));
  port().refuse(flows[0].id);
  send_from(*program, packet_to(200, 100));
  EXPECT_EQ(wait_for_flows(1)[0].host, "192.0.2.200");
}

TEST_F(RelayPorts, AsksAgainForATargetWhoseTunnelIsOver) {
  send_from(*program, packet_to(1, 100));
  TunnelEnd* end = forward(wait_for_flows(1)[0].id);
  ASSERT_TRUE(end);
  end->close();
  send_from(*program, packet_to(1, 100));
  EXPECT_EQ(wait_for_flows(1)[0].host, "192.0.2.1");
}

TEST_F(RelayPorts, MayBeClosedWhileATunnelThatIsOverHasYetToLearn) {
  send_from(*program, packet_to(1, 100));
  TunnelEnd* end = forward(wait_for_flows(1)[0].id);
  ASSERT_TRUE(end);
  end->request().end();
  ends.close_port(number);
  send(payload_datagram(300));
  ASSERT_TRUE(run_until([&] { return !over.empty(); }));
}

TEST_F(RelayPorts, EndsItsTunnelsWhenItIsClosed) {
  send_from(*program, packet_to(1, 100));
  ASSERT_TRUE(forward(wait_for_flows(1)[0].id));
  ends.close_port(number);
  EXPECT_EQ(ends.port(number), nullptr);
  ASSERT_TRUE(run_until([&] { return !over.empty(); }));
  EXPECT_EQ(over[0], TunnelOver::kClosed);
}

}  // namespace
}  // namespace sheaf::tunnel_node
