#include "tunnel_node/tunnel_node.h"

#include <gtest/gtest.h>

#include "stream/allocation_counter.h"
#include "tunnel_node/tunnel_nodes.h"

namespace sheaf::tunnel_node {
namespace {

using tunnel::DropReason;

TEST_F(TunnelNodes, CarriesPacketsBothWays) {
  ASSERT_TRUE(open());
  for (int i = 0; i < 40; ++i) send(payload_datagram(i % 3 == 0 ? 700 : 1000));
  ASSERT_TRUE(run_until([&] { return at_target() == 40; }));
  EXPECT_EQ(received[0], 700u);
  EXPECT_EQ(received[1], 1000u);
  EXPECT_EQ(marks, 0);  // RFC 9298 §3.1: Not-ECT
  EXPECT_EQ(sender, ends.find(request_id)->local_address());
  answer(std::vector<std::uint8_t>(20 * 900, 7), 900);  // as many segments
  ASSERT_TRUE(run_until([&] { return at_client.size() == 20; }));
  EXPECT_EQ(at_client[5].size(), 901u);
  EXPECT_EQ(at_client[5][0], 0);
  const tunnel::Counts counts = node->counts();
  EXPECT_EQ(counts.to_target.packets, 40u);
  EXPECT_EQ(counts.to_client.packets, 20u);
  EXPECT_EQ(counts.to_client.bytes, 20u * 900u);
}

TEST_F(TunnelNodes, CarriesMarksBothWays) {
  TunnelSettings settings;
  settings.contexts = {tunnel_request::PayloadContexts::Side::kProxy, {0, 2, 4, 6}};
  ASSERT_TRUE(open(settings));
  std::vector<std::uint8_t> datagram = payload_datagram(700);
  datagram[0] = 4;
  for (int i = 0; i < 3; ++i) send(datagram);
  ASSERT_TRUE(run_until([&] { return at_target() == 3; }));
  EXPECT_EQ(marks, static_cast<int>(quic::Ecn::kEct0));
  answer(std::vector<std::uint8_t>(4 * 900, 7), 900, quic::Ecn::kCe);
  answer(std::vector<std::uint8_t>(900, 7));
  ASSERT_TRUE(run_until([&] { return at_client.size() == 5; }));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(at_client[i][0], i < 4 ? 7 : 0);
}

// One loop runs client, proxy and target, and the client's engine and this test allocate, too: what
// a tunnel adds for each packet would show as thousands.
TEST_F(TunnelNodes, AllocatesNothingForAPacketThatItSends) {
  TunnelEnd* end = open();
  ASSERT_TRUE(end);
  const std::vector<std::uint8_t> datagram = payload_datagram(100);
  http3::DatagramConsumer& consumer = end->request();
  const auto burst = [&] {
    for (int i = 0; i < 200; ++i) consumer.on_datagram({request_id, datagram});
    ends.on_turn(io::monotonic_now());
  };
  burst();
  const std::size_t before = quic::allocation_count();
  for (int i = 0; i < 10; ++i) burst();
  // Two lists of tunnels that have something to do, for each turn
  EXPECT_LE(quic::allocation_count() - before, 20u);
  EXPECT_EQ(end->request().counts().to_target.packets, 2200u);
}

// A client opens many tunnels to targets that never read, and sends as fast as it can.
TEST_F(TunnelNodes, AGreedyClientTakesNoMemoryForWhatItSends) {
  constexpr std::size_t k_tunnels = 60;
  TunnelSettings settings;
  settings.target = target->local_address();
  std::vector<http3::DatagramConsumer*> consumers;
  called->on_event = [&](Node::Peer& peer, http3::SessionEvent& event) {
    const auto* request = std::get_if<http3::RequestReceived>(&event);
    if (!request) return static_cast<void>(ends.on_event(event, io::monotonic_now()));
    EXPECT_TRUE(peer.session.submit_response(request->stream, {{":status", "200"}}, true));
    auto opened = TunnelEnd::open(
        {*node, ends, called->loop(), peer.driver, peer.session, request->stream, ends.way()},
        settings, io::monotonic_now());
    ASSERT_TRUE(opened);
    consumers.push_back(&ends.keep(std::move(*opened)).request());
  };
  for (std::size_t i = 0; i < k_tunnels; ++i) {
    ASSERT_TRUE(asking->session.submit_request(
        {{":method", "POST"}, {":scheme", "https"}, {":authority", "a"}, {":path", "/"}}, true));
  }
  caller->loop().wake(asking->driver);
  ASSERT_TRUE(run_until([&] { return consumers.size() == k_tunnels; }));
  const std::vector<std::uint8_t> datagram = payload_datagram(1200);
  const std::vector<std::uint8_t> unknown(1200, 2);
  const auto flood = [&] {
    for (http3::DatagramConsumer* consumer : consumers) {
      for (int i = 0; i < 50; ++i) consumer->on_datagram({request_id, datagram});
      consumer->on_datagram({request_id, unknown});
    }
    ends.on_turn(io::monotonic_now());
  };
  flood();
  const std::size_t before = quic::live_bytes();
  for (int i = 0; i < 10; ++i) flood();
  EXPECT_LE(quic::live_bytes(), before);
  const tunnel::Counts counts = node->counts();
  EXPECT_EQ(counts.to_target.packets + counts.dropped(DropReason::kTargetBlocked),
            11 * 50 * k_tunnels);
  EXPECT_EQ(counts.dropped(DropReason::kUnknownContext), 11 * k_tunnels);
  asking->session.close(http3::ErrorCode::kNoError, "", io::monotonic_now());
  caller->loop().wake(asking->driver);
  ASSERT_TRUE(run_until([&] { return over.size() == k_tunnels; }));
  ends.clear();
  EXPECT_EQ(node->open_tunnels(), 0u);
}

TEST_F(TunnelNodes, ABurstWaitsForTheConnectionAndArrivesInOrder) {
  ASSERT_TRUE(open());
  send(payload_datagram(10));
  ASSERT_TRUE(run_until([&] { return at_target() == 1; }));
  for (std::uint8_t part = 0; part < 10; ++part) {
    answer(std::vector<std::uint8_t>(20 * 1000, part), 1000);
  }
  ASSERT_TRUE(run_until([&] { return at_client.size() == 200; }));
  for (std::size_t i = 0; i < 200; ++i) EXPECT_EQ(at_client[i][1], i / 20);
  EXPECT_EQ(node->counts().dropped(DropReason::kQueueFull), 0u);
}

TEST_F(TunnelNodes, KnowsOfRoomThatCameWhileItHadNoTunnel) {
  ends.way().blocked = true;
  ends.on_event(http3::DatagramsWritable{}, io::monotonic_now());
  EXPECT_FALSE(ends.way().blocked);
}

TEST_F(TunnelNodes, HearsOnlyItsTarget) {
  TunnelEnd* end = open();
  ASSERT_TRUE(end);
  auto other = io::UdpSocket::open(*io::parse_address("127.0.0.1", 0), {});
  ASSERT_TRUE(other);
  std::vector<std::uint8_t> bytes(10, 1);
  quic::TransmitBatch batch;
  batch.buffer = bytes;
  batch.size = batch.segment_size = bytes.size();
  batch.path.remote = end->local_address();
  static_cast<void>((*other)->send(batch));
  send(payload_datagram(10));
  ASSERT_TRUE(run_until([&] { return at_target() == 1; }));
  answer(std::vector<std::uint8_t>(20, 2));
  ASSERT_TRUE(run_until([&] { return !at_client.empty(); }));
  EXPECT_EQ(at_client.size(), 1u);
  EXPECT_EQ(at_client[0].size(), 21u);
}

TEST_F(TunnelNodes, AnUnreachableTargetEndsTheTunnel) {
  const quic::Address gone = target->local_address();
  target.reset();
  TunnelSettings settings;
  settings.target = gone;
  ASSERT_TRUE(open(settings));
  send(payload_datagram(10));
  ASSERT_TRUE(run_until([&] { return reset_code.has_value() && !over.empty(); }));
  EXPECT_EQ(*reset_code, http3::value_of(http3::ErrorCode::kConnectError));
  EXPECT_EQ(over, std::vector<TunnelOver>{TunnelOver::kUnreachable});
}

TEST_F(TunnelNodes, AnIdleTunnelEndsInOrder) {
  TunnelSettings settings;
  settings.idle = 40ms;
  ASSERT_TRUE(open(settings));
  ASSERT_TRUE(run_until([&] { return finished && !over.empty(); }));
  EXPECT_EQ(over, std::vector<TunnelOver>{TunnelOver::kIdle});
}

TEST_F(TunnelNodes, EndsWithItsClientAndKeepsItsCounts) {
  ASSERT_TRUE(open());
  send(payload_datagram(10));
  ASSERT_TRUE(run_until([&] { return at_target() == 1; }));
  EXPECT_TRUE(asking->session.write_body(request_id, {}, true));
  caller->loop().wake(asking->driver);
  ASSERT_TRUE(run_until([&] { return node->open_tunnels() == 0; }));
  EXPECT_EQ(over, std::vector<TunnelOver>{TunnelOver::kClient});
  EXPECT_EQ(node->counts().to_target.packets, 1u);
}

TEST_F(TunnelNodes, EndsWithTheConnection) {
  ASSERT_TRUE(open());
  asking->session.close(http3::ErrorCode::kNoError, "", io::monotonic_now());
  caller->loop().wake(asking->driver);
  ASSERT_TRUE(run_until([&] { return !over.empty(); }));
  EXPECT_EQ(over, std::vector<TunnelOver>{TunnelOver::kConnection});
  ends.clear();  // they refer to the session
}

TEST_F(TunnelNodes, ATooLargePacketIsCountedAndEndsNothing) {
  TunnelEnd* end = open();
  ASSERT_TRUE(end);
  send(payload_datagram(10));
  ASSERT_TRUE(run_until([&] { return at_target() == 1; }));
  answer(std::vector<std::uint8_t>(20000, 7));
  answer(std::vector<std::uint8_t>(20, 7));
  ASSERT_TRUE(run_until([&] { return !at_client.empty(); }));
  EXPECT_EQ(at_client[0].size(), 21u);
  EXPECT_EQ(end->request().counts().dropped(DropReason::kClientTooLarge), 1u);
  EXPECT_FALSE(end->request().over());
}

TEST_F(TunnelNodes, DropsWhatIsAboveTheRateOfItsUser) {
  TunnelSettings settings;
  settings.rate_name = "ann";
  settings.rate = 1;
  TunnelEnd* end = open(settings);
  ASSERT_TRUE(end);
  http3::DatagramConsumer& consumer = end->request();
  const std::vector<std::uint8_t> datagram = payload_datagram(1000);
  for (int i = 0; i < 200; ++i) consumer.on_datagram({request_id, datagram});
  ends.on_turn(io::monotonic_now());
  EXPECT_EQ(end->request().counts().dropped(DropReason::kOverRate), 200u - (128u << 10) / 1000u);
  // The other direction has its own budget.
  ASSERT_TRUE(run_until([&] { return at_target() > 0; }));
  answer(std::vector<std::uint8_t>(20, 2));
  ASSERT_TRUE(run_until([&] { return !at_client.empty(); }));
}

TEST_F(TunnelNodes, LeavesDescriptorsToOthers) {
  auto limited = TunnelNode::open(&uv, 1);
  ASSERT_TRUE(limited);
  TunnelEnd::Place place{**limited,          ends,       called->loop(), answering->driver,
                         answering->session, request_id, ends.way()};
  TunnelSettings settings;
  settings.target = target->local_address();
  {
    const auto first = TunnelEnd::open(place, settings, io::monotonic_now());
    ASSERT_TRUE(first);
    EXPECT_EQ((*limited)->open_tunnels(), 1u);
    const auto second = TunnelEnd::open(place, settings, io::monotonic_now());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().number, EMFILE);
  }
  EXPECT_TRUE(TunnelEnd::open(place, settings, io::monotonic_now()));
}

TEST_F(TunnelNodes, AnUnroutableTargetIsRefused) {
  TunnelSettings settings;
  settings.target = *io::parse_address("255.255.255.255", 9);  // broadcast: EACCES
  EXPECT_FALSE(open(settings));
  EXPECT_EQ(node->open_tunnels(), 0u);
}

}  // namespace
}  // namespace sheaf::tunnel_node
