// Tests draft-ietf-quic-ack-frequency-11 for a whole connection.
#include <utility>

#include "connection/raw_peer.h"

namespace sheaf::quic {
namespace {

constexpr Duration k_ack_delay = 25ms;

class AckFrequencyTest : public testing::Test {
 protected:
  AckFrequencyTest() { peer_.collect(); }
  void ask(const AckFrequencyFrame& frame) { peer_.send({frame}, peer_.path); }
  // Pings the server, and returns how many of its packets acknowledge that.
  std::size_t acknowledgements_of(int packets) {
    std::size_t count = 0;
    for (int i = 0; i < packets; ++i) {
      peer_.send({PingFrame{}}, peer_.path);
      for (const RawPeer::Packet& packet : peer_.collect()) count += packet.has<AckFrame>();
    }
    return count;
  }
  void expect_violation(const AckFrequencyFrame& frame) {
    ask(frame);
    const ConnectionClosed* closed = peer_.server.closed();
    ASSERT_NE(closed, nullptr);
    EXPECT_EQ(closed->error, static_cast<std::uint64_t>(TransportErrorCode::kProtocolViolation));
    EXPECT_EQ(closed->frame_type, static_cast<std::uint64_t>(FrameType::kAckFrequency));
  }
  RawPeer peer_;
};

TEST_F(AckFrequencyTest, IsAnnounced) {
  EXPECT_EQ(peer_.server.local_parameters().min_ack_delay, 1ms);
  EXPECT_FALSE(peer_.server.local_parameters().first_min_ack_delay);
}

TEST_F(AckFrequencyTest, TheServerDoesAsItIsAsked) {
  EXPECT_EQ(acknowledgements_of(40), 20u);
  ask({.sequence = 0, .threshold = 9, .max_ack_delay = 20'000, .reordering_threshold = 1});
  peer_.send({ImmediateAckFrame{}}, peer_.path);
  peer_.collect();
  EXPECT_EQ(acknowledgements_of(40), 4u);
}

TEST_F(AckFrequencyTest, ADemandIsObeyedAtOnce) {
  peer_.send({ImmediateAckFrame{}}, peer_.path);
  const auto packets = peer_.collect();
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_TRUE(packets[0].has<AckFrame>());
  EXPECT_GT(peer_.server.next_timeout(), peer_.now + k_ack_delay);
}

TEST_F(AckFrequencyTest, TheDelayIsThatOfTheRequest) {
  ask({.sequence = 0, .threshold = 9, .max_ack_delay = 3'000, .reordering_threshold = 1});
  EXPECT_TRUE(peer_.collect().empty());
  EXPECT_EQ(peer_.server.next_timeout(), peer_.now + 3ms);
}

TEST_F(AckFrequencyTest, OldRequestsAreIgnored) {
  ask({.sequence = 5, .threshold = 0, .max_ack_delay = 5'000, .reordering_threshold = 1});
  ask({.sequence = 4, .threshold = 30, .max_ack_delay = 5'000, .reordering_threshold = 1});
  ask({.sequence = 5, .threshold = 30, .max_ack_delay = 5'000, .reordering_threshold = 1});
  peer_.collect();
  EXPECT_EQ(acknowledgements_of(10), 10u);
  ask({.sequence = 6, .threshold = 30, .max_ack_delay = 5'000, .reordering_threshold = 1});
  peer_.collect();
  EXPECT_LE(acknowledgements_of(20), 1u);
}

TEST_F(AckFrequencyTest, EnormousValuesAreBounded) {
  ask({.sequence = k_max_varint,
       .threshold = k_max_varint,
       .max_ack_delay = (1000 << 14) - 1,
       .reordering_threshold = k_max_varint});
  EXPECT_EQ(peer_.server.closed(), nullptr);
  peer_.collect();
  EXPECT_GE(acknowledgements_of(600), 2u);
  EXPECT_LE(peer_.server.next_timeout(), peer_.now + 1s);
}

TEST_F(AckFrequencyTest, ADelayBelowTheAnnouncedOneIsAViolation) {
  expect_violation({.sequence = 0, .threshold = 1, .max_ack_delay = 999});
}

TEST_F(AckFrequencyTest, ADelayThatNobodyMayAnnounceIsAViolation) {
  expect_violation({.sequence = 0, .threshold = 1, .max_ack_delay = 1000 << 14});
}

TEST_F(AckFrequencyTest, AnOldRequestMustBeValidToo) {
  ask({.sequence = 5, .threshold = 1, .max_ack_delay = 5'000, .reordering_threshold = 1});
  expect_violation({.sequence = 4, .threshold = 1, .max_ack_delay = 0});
}

// RFC 9000 §12.4: frames of an extension that was not announced are unknown.
TEST(UnannouncedAckFrequency, IsAnError) {
  for (const Frame& frame :
       {Frame{AckFrequencyFrame{.sequence = 0, .threshold = 9, .max_ack_delay = 20'000}},
        Frame{ImmediateAckFrame{}}}) {
    ConnectionConfig config;
    config.take_ack_frequency = false;
    RawPeer peer({.config = config});
    peer.send({frame}, peer.path);
    const ConnectionClosed* closed = peer.server.closed();
    ASSERT_NE(closed, nullptr);
    EXPECT_EQ(closed->error, static_cast<std::uint64_t>(TransportErrorCode::kFrameEncodingError));
  }
}

// The loop reads many packets before it sends.
TEST_F(AckFrequencyTest, ManyPacketsOfOneTurnCostOneAcknowledgement) {
  ask({.sequence = 0, .threshold = 9, .max_ack_delay = 20'000, .reordering_threshold = 1});
  peer_.collect();
  for (int i = 0; i < 100; ++i) peer_.send({PingFrame{}}, peer_.path);
  EXPECT_EQ(peer_.collect().size(), 1u);
  for (int i = 0; i < 5; ++i) peer_.send({PingFrame{}}, peer_.path);
  EXPECT_TRUE(peer_.collect().empty());
  peer_.send({ImmediateAckFrame{}}, peer_.path);
  EXPECT_EQ(peer_.collect().size(), 1u);
}

// --- the server asks ----------------------------------------------------------------------------

// A server with much to send, and what it asks of its client.
class AskingServer {
 public:
  explicit AskingServer(const RawPeer::Options& options) : peer(options) {
    peer.make_server_talk(2'000'000);
    peer.on_packet = [this](const RawPeer::Packet& packet) {
      unacknowledged.push_back(packet.number);
      demands += packet.has<ImmediateAckFrame>();
      // The first form is read as the present one: its last field is a byte that is 0 or 1.
      for (const auto& request : packet.all<AckFrequencyFrame>()) {
        requests.push_back(request);
        request_numbers.push_back(packet.number);
      }
    };
  }
  // Acknowledges all packets but one, a round trip later. Leaves out numbers that were skipped.
  void acknowledge(std::optional<PacketNumber> lost = std::nullopt) {
    peer.collect();
    peer.now += 40ms;
    std::vector<Frame> frames;
    for (const PacketNumber number : std::exchange(unacknowledged, {})) {
      if (number == lost) continue;
      auto* run = frames.empty() ? nullptr : std::get_if<AckFrame>(&frames.back());
      if (run && run->largest + 1 == number) {
        ++run->largest;
        ++run->first_range;
      } else {
        frames.push_back(AckFrame{.largest = number, .first_range = 0});
      }
    }
    peer.send(frames, peer.path);
  }

  RawPeer peer;
  std::vector<PacketNumber> unacknowledged;
  std::size_t demands = 0;
  std::vector<AckFrequencyFrame> requests;
  std::vector<PacketNumber> request_numbers;
};

TEST(AskedAckFrequency, FollowsTheWindow) {
  AskingServer server({.min_ack_delay = 1ms});
  for (int i = 0; i < 14; ++i) server.acknowledge();
  ASSERT_GE(server.requests.size(), 2u);
  EXPECT_EQ(server.requests[0].sequence, 0u);
  EXPECT_GE(server.requests[0].threshold, 3u);
  EXPECT_EQ(server.requests[0].max_ack_delay, 10'000u);
  EXPECT_EQ(server.requests[0].reordering_threshold, 3u);
  EXPECT_EQ(server.requests[1].sequence, 1u);
  EXPECT_GT(server.requests[1].threshold, server.requests[0].threshold);
}

TEST(AskedAckFrequency, IsNotAskedOfOtherPeers) {
  AskingServer server({});
  for (int i = 0; i < 6; ++i) server.acknowledge();
  EXPECT_TRUE(server.requests.empty());
  server.peer.sleep(2s);
  EXPECT_EQ(server.demands, 0u);
}

TEST(AskedAckFrequency, TakesTheFirstFormForPeersThatKnowOnlyThat) {
  AskingServer server({.first_min_ack_delay = 1ms});
  for (int i = 0; i < 6; ++i) server.acknowledge();
  ASSERT_FALSE(server.requests.empty());
  EXPECT_GE(server.requests[0].threshold, 4u);             // the tolerance is larger by one
  EXPECT_EQ(server.requests[0].reordering_threshold, 0u);  // order is not ignored
  server.peer.sleep(2s);
  EXPECT_EQ(server.demands, 0u);  // it has no IMMEDIATE_ACK
}

TEST(AskedAckFrequency, AProbeDemandsAnAcknowledgement) {
  ConnectionConfig config;
  config.discover_mtu = false;
  AskingServer server({.config = config, .min_ack_delay = 1ms});
  server.acknowledge();
  server.peer.collect();
  EXPECT_EQ(server.demands, 0u);
  server.peer.sleep(1s);
  EXPECT_GE(server.demands, 2u);
}

TEST(AskedAckFrequency, AProbeOfTheMtuDemandsAnAcknowledgement) {
  RawPeer peer({.min_ack_delay = 1ms});
  std::size_t probes = 0;
  for (const RawPeer::Packet& packet : peer.collect()) {
    if (packet.size <= 1200) continue;
    ++probes;
    EXPECT_TRUE(packet.has<ImmediateAckFrame>());
  }
  EXPECT_GT(probes, 0u);
}

TEST(AskedAckFrequency, IsAskedForAgainAfterALoss) {
  AskingServer server({.min_ack_delay = 1ms});
  while (server.requests.empty()) {
    server.acknowledge();
    server.peer.collect();
  }
  server.acknowledge(server.request_numbers[0]);
  server.peer.collect();
  ASSERT_EQ(server.requests.size(), 2u);
  EXPECT_EQ(server.requests[1].sequence, 1u);
}

}  // namespace
}  // namespace sheaf::quic
