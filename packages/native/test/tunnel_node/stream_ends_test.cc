#include "tunnel_node/stream_ends.h"

#include <gtest/gtest.h>

#include "http3/capsule.h"
#include "io/monotonic_clock.h"
#include "io/socket_address.h"
#include "io/udp_socket.h"
#include "stream/allocation_counter.h"

namespace sheaf::tunnel_node {
namespace {

using namespace std::chrono_literals;
using tunnel::DropReason;

std::vector<std::uint8_t> packet_capsule(std::size_t size) {
  std::vector<std::uint8_t> value(1 + size, 'x');
  value[0] = 0;
  return http3::encode_capsule({http3::k_capsule_datagram, value});
}

// Tunnels with a target on one loop
class StreamTunnels : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(uv_loop_init(&uv), 0);
    // The watch of sockets does not keep a loop alive.
    ASSERT_EQ(uv_timer_init(&uv, &alive), 0);
    uv_timer_start(
        &alive, [](uv_timer_t*) {}, 1, 1);
    node = std::move(*TunnelNode::open(&uv));
    target = std::move(*io::UdpSocket::open(*io::parse_address("127.0.0.1", 0), {}));
    settings.target = target->local_address();
  }
  void TearDown() override {
    ends.clear();
    node.reset();
    uv_close(reinterpret_cast<uv_handle_t*>(&alive), nullptr);
    uv_run(&uv, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&uv), 0);
  }

  StreamEnd& open(std::uint32_t connection = 1) {
    return **ends.open(*node, connection, settings, io::monotonic_now());
  }
  void receive(StreamEnd& end, quic::Bytes bytes) { end.receive(bytes, io::monotonic_now()); }
  // Runs the loop, and tells what came of the tunnels, until `done`.
  bool run_until(const std::function<bool()>& done) {
    const quic::Time deadline = io::monotonic_now() + 20s;
    while (!done()) {
      if (io::monotonic_now() > deadline) return false;
      uv_run(&uv, UV_RUN_ONCE);
      ends.take_pending([this](StreamEnd& end) {
        if (end.over()) {
          over.push_back({end.reason(), *end.over()});
          return;
        }
        const auto batch = end.take(io::monotonic_now());
        at_client += batch.size();
        if (takes) end.on_writable();
      });
    }
    return true;
  }
  std::size_t at_target() {
    target->receive([&](const quic::Datagram& datagram) {
      received += datagram.payload.size();
      sender = datagram.path.remote;
    });
    return received;
  }
  void answer(std::size_t size, std::size_t packets = 1) {
    std::vector<std::uint8_t> bytes(size * packets, 7);
    quic::TransmitBatch batch;
    batch.buffer = bytes;
    batch.size = bytes.size();
    batch.segment_size = size;
    batch.path.remote = sender;
    EXPECT_EQ(target->send(batch), io::SendOutcome::kSent);
  }

  uv_loop_t uv{};
  uv_timer_t alive{};
  std::unique_ptr<TunnelNode> node;
  int notified = 0;
  StreamEnds ends{[this] { ++notified; }};
  TunnelSettings settings;
  std::unique_ptr<io::UdpSocket> target;
  std::size_t received = 0;
  quic::Address sender;
  std::size_t at_client = 0;
  bool takes = true;
  std::vector<std::pair<TunnelOver, std::uint64_t>> over;
};

const auto k_in_order = http3::value_of(http3::ErrorCode::kNoError);

TEST_F(StreamTunnels, CarryPacketsBothWays) {
  StreamEnd& end = open();
  for (int i = 0; i < 10; ++i) receive(end, packet_capsule(700));
  ASSERT_TRUE(run_until([&] { return at_target() == 7000; }));
  EXPECT_EQ(sender, end.local_address());
  answer(900, 20);
  ASSERT_TRUE(run_until([&] { return at_client == 20 * packet_capsule(900).size(); }));
  EXPECT_GT(notified, 0);
  EXPECT_EQ(node->counts().to_target.packets, 10u);
  EXPECT_EQ(node->counts().to_client.bytes, 20u * 900u);
}

TEST_F(StreamTunnels, AClientThatTakesNothingHoldsABatchAndAQueue) {
  settings.queue_limit = 20000;
  takes = false;
  StreamEnd& end = open();
  receive(end, packet_capsule(10));
  ASSERT_TRUE(run_until([&] { return at_target() == 10; }));
  for (std::uint64_t packets = 40; packets <= 400; packets += 40) {
    answer(1000, 40);
    ASSERT_TRUE(run_until([&] {
      const tunnel::Counts& counts = end.counts();
      return counts.to_client.packets + counts.dropped(DropReason::kQueueFull) + 19 >= packets;
    }));
  }
  EXPECT_LE(at_client, tunnel_request::TunnelStream::k_batch);
  EXPECT_LE(node->room().used(), settings.queue_limit);
  takes = true;
  end.on_writable();
  ASSERT_TRUE(run_until([&] { return at_client > 30000 && node->room().used() == 0; }));
}

TEST_F(StreamTunnels, EndWithTheirClients) {
  StreamEnd& whole = open();
  receive(whole, packet_capsule(10));
  whole.on_finished();
  StreamEnd& cut = open();
  receive(cut, quic::Bytes(packet_capsule(10)).first(5));
  cut.on_finished();
  open().abandon();
  ASSERT_TRUE(run_until([&] { return over.size() == 3; }));
  using enum http3::ErrorCode;
  EXPECT_EQ(over[0], std::pair(TunnelOver::kClient, k_in_order));
  EXPECT_EQ(over[1], std::pair(TunnelOver::kClient, http3::value_of(kMessageError)));
  EXPECT_EQ(over[2], std::pair(TunnelOver::kClient, k_in_order));
  EXPECT_EQ(node->open_tunnels(), 0u);
  EXPECT_EQ(ends.find(1), nullptr);
  EXPECT_EQ(node->counts().to_target.packets, 1u);
}

TEST_F(StreamTunnels, EndWithATargetThatIsGone) {
  settings.target = target->local_address();
  target.reset();
  StreamEnd& end = open();
  receive(end, packet_capsule(10));
  ASSERT_TRUE(run_until([&] { return over.size() == 1; }));
  EXPECT_EQ(over[0].first, TunnelOver::kUnreachable);
  EXPECT_EQ(over[0].second, http3::value_of(http3::ErrorCode::kConnectError));
}

TEST_F(StreamTunnels, AreSafeWhenTheTargetGoesWithinABurst) {
  target.reset();
  StreamEnd& end = open();
  std::vector<std::uint8_t> flood;
  for (int i = 0; i < 300; ++i) {
    const auto capsule = packet_capsule(300 + i);  // runs of one, so that a burst is sent in parts
    flood.insert(flood.end(), capsule.begin(), capsule.end());
  }
  receive(end, flood);
  receive(end, flood);
  ASSERT_TRUE(run_until([&] { return over.size() == 1; }));
}

TEST_F(StreamTunnels, EndWhenTheyAreIdle) {
  settings.idle = 40ms;
  open();
  open();
  ASSERT_TRUE(run_until([&] { return over.size() == 2; }));
  EXPECT_EQ(over[0], std::pair(TunnelOver::kIdle, k_in_order));
}

TEST_F(StreamTunnels, TakeNoMemoryForWhatAGreedyClientSends) {
  std::vector<StreamEnd*> tunnels;
  for (int i = 0; i < 60; ++i) tunnels.push_back(&open());
  const auto capsule = packet_capsule(1200);
  const auto flood = [&] {
    for (StreamEnd* end : tunnels) {
      for (int i = 0; i < 50; ++i) receive(*end, capsule);
    }
  };
  flood();
  const std::size_t before = quic::live_bytes();
  for (int i = 0; i < 5; ++i) flood();
  EXPECT_LE(quic::live_bytes(), before);
}

}  // namespace
}  // namespace sheaf::tunnel_node
