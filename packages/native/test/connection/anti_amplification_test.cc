// Tests RFC 9000 §8.1 for a whole connection: how much is sent to an address before it is
// validated.
#include "connection/raw_peer.h"

namespace sheaf::quic {
namespace {

// With an address, only bytes that go there count.
std::size_t bytes_of(const std::vector<RawPeer::Packet>& packets,
                     std::optional<AddressPair> to = std::nullopt) {
  std::size_t sum = 0;
  for (const RawPeer::Packet& packet : packets) {
    if (!to || packet.path == *to) sum += packet.size;
  }
  return sum;
}

TEST(AntiAmplificationTest, HeldPacketsCountOnce) {
  RawPeer peer({.config = {}, .validated = false, .finished_came = false});
  peer.make_server_talk();
  std::size_t received = 0;
  for (int i = 0; i < 4; ++i) received += peer.send({PingFrame{}}, peer.path, 500);
  // The client's Finished arrives, so the packets that were held are read.
  peer.server.establishment().install_receive_secret(known_secret(2), peer.now);
  const std::size_t sent = bytes_of(peer.collect());
  EXPECT_LE(sent, 3 * received);
  EXPECT_GT(sent, 2 * received);
}

TEST(AntiAmplificationTest, PartsOfACountedDatagramCountNothing) {
  RawPeer peer({.config = {}, .validated = false, .finished_came = true});
  peer.make_server_talk();
  std::vector<std::uint8_t> garbage(500, 0x41);
  peer.server.establishment().count_handshake_bytes(1000, 0);
  peer.server.receive({.payload = garbage, .path = peer.path, .counted = true}, peer.now);
  EXPECT_LE(bytes_of(peer.collect()), 3000u);
}

TEST(AntiAmplificationTest, OtherAddressesGiveNothingToThePath) {
  RawPeer peer({.config = {}, .validated = false, .finished_came = true});
  peer.make_server_talk();
  for (int i = 0; i < 10; ++i) peer.send({PingFrame{}}, RawPeer::address(9), 1200);
  EXPECT_EQ(bytes_of(peer.collect()), 0u);
}

// The server follows the client to an address that is not validated, and then may send nothing more
// there.
class BlockedPath : public testing::Test {
 protected:
  BlockedPath() {
    for (std::uint8_t sequence = 1; sequence < 4; ++sequence) {
      peer_.send({RawPeer::given(sequence)}, peer_.path);
    }
    peer_.collect();
    peer_.make_server_talk();
    received_ = peer_.send({PingFrame{}}, RawPeer::address(2), 300);
    // The former address is challenged, too, and is known to belong to the client.
    EXPECT_LE(bytes_of(peer_.collect(), RawPeer::address(2)), 3 * received_);
  }
  RawPeer peer_;
  std::size_t received_ = 0;
};

TEST_F(BlockedPath, AnAcknowledgementThatMayNotLeaveWakesNobody) {
  // The packet elicits an acknowledgement, which must take this path, but gives no allowance there.
  peer_.send({PathChallengeFrame{}, PathResponseFrame{}}, RawPeer::address(3));
  peer_.send({PathChallengeFrame{}, PathResponseFrame{}}, RawPeer::address(3));
  peer_.collect();
  EXPECT_GT(peer_.server.next_timeout(), peer_.now);
  EXPECT_LT(peer_.sleep(1min), 50);
}

TEST_F(BlockedPath, ProbesThatMayNotLeaveWakeNobody) {
  EXPECT_LT(peer_.sleep(1min), 50);
  // The server returned to the address that is validated.
  EXPECT_EQ(peer_.sent_while_asleep[RawPeer::address(2)], 0u);
  EXPECT_GT(peer_.sent_while_asleep[peer_.path], 0u);
}

// A client whose server has filled its window.
struct FullWindowPeer : RawPeer {
  FullWindowPeer() : RawPeer({.config = without_mtu_discovery()}) {
    make_server_talk();
    collect();
  }
  static ConnectionConfig without_mtu_discovery() {
    ConnectionConfig config;
    config.discover_mtu = false;
    return config;
  }
};

// A NAT gave the client another port while the server's window was full. An ACK of 33 bytes would
// leave 57 of the 90 that may be sent there, too few for another packet.
class MovedClient : public testing::TestWithParam<std::size_t> {};

TEST_P(MovedClient, IsChallengedAlthoughAnAcknowledgementIsDue) {
  FullWindowPeer peer;
  const PathStats stats = peer.server.paths().stats()[0];
  EXPECT_LT(stats.congestion_window, stats.bytes_in_flight + 90);
  const auto ping = [&](const AddressPair& from) {
    return peer.send({PingFrame{}}, from, GetParam());
  };
  AddressPair moved = peer.path;
  ++moved.remote.port;
  ping(peer.path);
  const std::size_t received = ping(moved);
  EXPECT_EQ(received, GetParam());
  const auto packets = peer.collect();
  std::size_t challenges = 0;
  for (const RawPeer::Packet& packet : packets) {
    if (packet.path != moved || !packet.has<PathChallengeFrame>()) continue;
    ++challenges;
    EXPECT_TRUE(packet.has<AckFrame>());
    EXPECT_FALSE(packet.has<StreamFrame>());
  }
  EXPECT_EQ(challenges, 1u);
  EXPECT_LE(bytes_of(packets, moved), 3 * received);
}

// The ranges of an acknowledgement would fill all that may be sent.
TEST_P(MovedClient, IsChallengedAlthoughTheAcknowledgementIsLong) {
  ConnectionConfig config;
  config.discover_mtu = false;
  RawPeer peer({.config = config});
  for (PacketNumber i = 0; i < 64; ++i) {
    peer.lose(300);
    peer.send({PingFrame{}}, peer.path, 30);
  }
  peer.make_server_talk();
  peer.collect();
  peer.lose(300);
  AddressPair moved = peer.path;
  ++moved.remote.port;
  const std::size_t received = peer.send({PingFrame{}}, moved, GetParam());
  const auto packets = peer.collect();
  EXPECT_EQ(std::ranges::count_if(packets,
                                  [&](const RawPeer::Packet& packet) {
                                    return packet.path == moved && packet.has<PathChallengeFrame>();
                                  }),
            1);
  EXPECT_LE(bytes_of(packets, moved), 3 * received);
}

// The first challenge is lost, and the client has sent packets meanwhile whose acknowledgements
// took the rest of what may be sent.
TEST_P(MovedClient, IsChallengedAgainAlthoughTheWindowIsFull) {
  FullWindowPeer peer;
  AddressPair moved = peer.path;
  ++moved.remote.port;
  std::size_t received = 0;
  std::size_t sent = 0;
  const auto challenges = [&] {
    received += peer.send({PingFrame{}}, moved, GetParam());
    const auto packets = peer.collect();
    sent += bytes_of(packets, moved);
    EXPECT_LE(sent, 3 * received);
    return std::ranges::count_if(packets, [&](const RawPeer::Packet& packet) {
      EXPECT_FALSE(packet.path == moved && packet.has<StreamFrame>());
      return packet.path == moved && packet.has<PathChallengeFrame>();
    });
  };
  EXPECT_EQ(challenges(), 1);
  peer.now += 500ms;
  EXPECT_EQ(challenges(), 0);
  EXPECT_EQ(challenges(), 0);
  // RFC 9000 §8.2.1: as often as an Initial packet is repeated.
  peer.now += 600ms;
  EXPECT_EQ(challenges(), 1);
}

// A response does not wait for what is in flight, which may have gone to another address.
TEST(FullWindow, HoldsNoPathResponseBack) {
  FullWindowPeer peer;
  const PathStats stats = peer.server.paths().stats()[0];
  EXPECT_LT(stats.congestion_window, stats.bytes_in_flight + 1200);
  const PathChallengeFrame challenge{{1, 2, 3, 4, 5, 6, 7, 8}};
  peer.send({challenge}, peer.path, 1200);
  const auto packets = peer.collect();
  ASSERT_EQ(packets.size(), 1u);
  const auto response = packets[0].find<PathResponseFrame>();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->data, challenge.data);
  EXPECT_TRUE(packets[0].has<AckFrame>());
  EXPECT_FALSE(packets[0].has<StreamFrame>());
  EXPECT_EQ(packets[0].size, 1200u);
}

// RFC 9000 §8.2.2: responses are constrained by congestion control. A peer asks as often as it
// likes.
TEST(FullWindow, HoldsBackWhatAnswersMoreChallenges) {
  FullWindowPeer peer;
  std::size_t responses = 0;
  for (std::uint8_t i = 0; i < 50; ++i) {
    peer.send({PathChallengeFrame{{i}}}, peer.path, 40);
    for (const auto& packet : peer.collect()) responses += packet.has<PathResponseFrame>() ? 1 : 0;
  }
  EXPECT_GE(responses, 1u);
  EXPECT_LE(responses, 4u);
  const PathStats stats = peer.server.paths().stats()[0];
  EXPECT_LT(stats.bytes_in_flight, stats.congestion_window + 4 * 1200);
}

INSTANTIATE_TEST_SUITE_P(SizesOfItsPacket, MovedClient, testing::Values(30, 60, 399, 400, 1200));

}  // namespace
}  // namespace sheaf::quic
