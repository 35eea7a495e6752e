#include "tunnel_request/tunnel_stream.h"

#include <gtest/gtest.h>

#include <string>

#include "http3/session_pair.h"

namespace sheaf::tunnel_request {
namespace {

using namespace std::chrono_literals;
using http3::bytes_of;
using http3::ErrorCode;
using http3::text_of;
using tunnel::DropReason;

std::string capsule_of(std::uint64_t type, std::string_view value) {
  return text_of(http3::encode_capsule({type, bytes_of(value)}));
}
std::string packet_capsule(std::string_view payload) {
  return capsule_of(http3::k_capsule_datagram, std::string(1, '\0') + std::string(payload));
}

struct StreamTunnel {
  explicit StreamTunnel(std::size_t queue_limit = 64 << 10, PayloadContexts contexts = {})
      : stream({room, waiting_bytes}, queue_limit, std::move(contexts)) {}

  std::optional<ErrorCode> receive(std::string_view bytes) {
    return stream.receive(bytes_of(bytes), [this](const tunnel::Packet& packet) {
      packets.push_back(text_of(packet.payload));
      marks.push_back(packet.ecn);
    });
  }
  std::string take() {
    std::vector<std::uint8_t> out;
    stream.take(out, now);
    return text_of(out);
  }
  std::uint64_t dropped(DropReason reason) { return stream.counts().dropped(reason); }

  Time now{1s};
  tunnel::SharedRoom room{1 << 20};
  std::size_t waiting_bytes = 0;
  TunnelStream stream;
  std::vector<std::string> packets;
  std::vector<Ecn> marks;
};

TEST(TunnelStream, ReadsCapsulesInWhateverPiecesTheyCome) {
  const std::string bytes = packet_capsule("one") + capsule_of(0x29 * 5 + 0x17, "reserved") +
                            packet_capsule("") + packet_capsule(std::string(300, 'x'));
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    StreamTunnel tunnel;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      EXPECT_FALSE(tunnel.receive(std::string_view(bytes).substr(at, piece)));
    }
    EXPECT_EQ(tunnel.packets, (std::vector<std::string>{"one", "", std::string(300, 'x')}));
    EXPECT_TRUE(tunnel.stream.at_boundary());
  }
}

TEST(TunnelStream, KnowsWhereItsClientMayEnd) {
  const std::string bytes = packet_capsule("a packet");
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    StreamTunnel tunnel;
    EXPECT_FALSE(tunnel.receive(std::string_view(bytes).substr(0, length)));
    EXPECT_EQ(tunnel.stream.at_boundary(), length == 0 || length == bytes.size());
  }
}

TEST(TunnelStream, RefusesWhatIsMalformedAndPassesNothingBehindIt) {
  const auto refusal = [](std::string_view bytes) {
    StreamTunnel tunnel;
    const auto fault = tunnel.receive(std::string(bytes) + packet_capsule("behind"));
    EXPECT_TRUE(tunnel.packets.empty());
    return fault;
  };
  EXPECT_EQ(refusal(capsule_of(0, "")), ErrorCode::kDatagramError);
  EXPECT_EQ(refusal(capsule_of(0, "\xc0")), ErrorCode::kDatagramError);
  EXPECT_EQ(refusal(std::string("\0\x80\x01\0\x08", 5)), ErrorCode::kMessageError);
}

TEST(TunnelStream, CountsWhatItDrops) {
  StreamTunnel tunnel;
  EXPECT_FALSE(
      tunnel.receive(capsule_of(0, "\x02nobody") + packet_capsule(std::string(17000, 'x'))));
  EXPECT_EQ(tunnel.dropped(DropReason::kUnknownContext), 1u);
  EXPECT_EQ(tunnel.dropped(DropReason::kTargetTooLarge), 1u);
  EXPECT_TRUE(tunnel.packets.empty());
}

TEST(TunnelStream, SendsPacketsInOrderAndNoMoreThanABatchAtOnce) {
  StreamTunnel tunnel;
  for (char content = 'a'; content < 'u'; ++content) {
    tunnel.stream.send({bytes_of(std::string(1200, content))}, tunnel.now);
  }
  std::string all;
  for (std::string batch; !(batch = tunnel.take()).empty(); all += batch) {
    EXPECT_LE(batch.size(), TunnelStream::k_batch);
  }
  std::string expected;
  for (char content = 'a'; content < 'u'; ++content) {
    expected += packet_capsule(std::string(1200, content));
  }
  EXPECT_EQ(all, expected);
  EXPECT_EQ(tunnel.stream.counts().to_client.bytes, 20u * 1200u);
  EXPECT_EQ(tunnel.room.used(), 0u);
}

TEST(TunnelStream, SendsAPacketThatIsLongerThanABatch) {
  StreamTunnel tunnel(256 << 10);
  tunnel.stream.send({bytes_of(std::string(60000, 'x'))}, tunnel.now);
  EXPECT_EQ(tunnel.take(), packet_capsule(std::string(60000, 'x')));
}

TEST(TunnelStream, DropsWhatFindsNoRoom) {
  StreamTunnel tunnel(3000);
  for (int i = 0; i < 5; ++i) tunnel.stream.send({bytes_of(std::string(1200, 'x'))}, tunnel.now);
  EXPECT_EQ(tunnel.dropped(DropReason::kQueueFull), 3u);
  EXPECT_EQ(tunnel.take().size(), 2 * packet_capsule(std::string(1200, 'x')).size());
}

TEST(TunnelStream, ShedsAQueueThatStands) {
  StreamTunnel tunnel(256 << 10);
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 16; ++i) tunnel.stream.send({bytes_of(std::string(1200, 'x'))}, tunnel.now);
    tunnel.now += 20ms;
    tunnel.take();
  }
  EXPECT_GT(tunnel.dropped(DropReason::kQueueStanding), 0u);
}

TEST(TunnelStream, MarksTravelAsContextsBothWays) {
  StreamTunnel tunnel(64 << 10, {PayloadContexts::Side::kProxy, {0, 2, 4, 6}});
  EXPECT_FALSE(tunnel.receive(capsule_of(0,
                                         "\x06"
                                         "one") +
                              packet_capsule("two")));
  EXPECT_EQ(tunnel.marks, (std::vector{Ecn::kCe, Ecn::kNotEct}));
  tunnel.stream.send({bytes_of("back"), Ecn::kEct0}, tunnel.now);
  EXPECT_EQ(tunnel.take(), capsule_of(0,
                                      "\x05"
                                      "back"));
}

TEST(TunnelStream, MarksStopAtAClientThatDoesNotKnowThem) {
  StreamTunnel tunnel;
  tunnel.stream.send({bytes_of("back"), Ecn::kCe}, tunnel.now);
  EXPECT_EQ(tunnel.take(), packet_capsule("back"));
}

}  // namespace
}  // namespace sheaf::tunnel_request
