#include "tunnel/packet_queue.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace sheaf::tunnel {
namespace {

constexpr quic::Time k_now{std::chrono::seconds(1)};

std::vector<std::uint8_t> packet(std::size_t size, std::uint8_t content = 1) {
  return std::vector<std::uint8_t>(size, content);
}

TEST(PacketQueue, KeepsOrder) {
  SharedRoom room(10000);
  std::size_t used = 0;
  PacketQueue queue(5000, {room, used});
  EXPECT_TRUE(queue.push({packet(3, 1)}, k_now));
  EXPECT_TRUE(queue.push({packet(2, 2)}, k_now));
  EXPECT_EQ(queue.front().payload[0], 1);
  queue.pop();
  EXPECT_EQ(queue.front().payload[0], 2);
  EXPECT_EQ(queue.front().payload.size(), 2u);
  queue.pop();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(room.used(), 0u);
  EXPECT_EQ(used, 0u);
}

TEST(PacketQueue, TellsWhenAPacketCame) {
  SharedRoom room(10000);
  std::size_t used = 0;
  PacketQueue queue(5000, {room, used});
  queue.push({packet(3)}, k_now);
  EXPECT_EQ(queue.front_time(), k_now);
}

TEST(PacketQueue, RefusesWhatIsAboveItsOwnLimit) {
  SharedRoom room(100000);
  std::size_t used = 0;
  PacketQueue queue(3000, {room, used});
  EXPECT_TRUE(queue.push({packet(1200)}, k_now));
  EXPECT_TRUE(queue.push({packet(1200)}, k_now));
  EXPECT_FALSE(queue.push({packet(1200)}, k_now));
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(room.used(), queue.bytes());  // what was refused takes nothing
}

TEST(PacketQueue, SharesTheRoomOfItsConnection) {
  SharedRoom room(5000);
  std::size_t used = 0;
  PacketQueue first(5000, {room, used});
  {
    PacketQueue second(5000, {room, used});
    EXPECT_TRUE(first.push({packet(1200)}, k_now));
    EXPECT_TRUE(second.push({packet(1200)}, k_now));
    EXPECT_FALSE(first.push({packet(1200)}, k_now));
    EXPECT_EQ(used, first.bytes() + second.bytes());
  }
  EXPECT_EQ(used, first.bytes());  // a queue that goes gives its part back
  EXPECT_EQ(room.used(), first.bytes());
  EXPECT_TRUE(first.push({packet(1200)}, k_now));
}

TEST(PacketQueue, OneConnectionLeavesRoomForOthers) {
  SharedRoom room(120000);
  std::size_t greedy = 0;
  PacketQueue large(1 << 20, {room, greedy});
  while (large.push({packet(1200)}, k_now)) {
  }
  EXPECT_LE(greedy, 60000u);
  EXPECT_GT(greedy, 55000u);
  std::size_t modest = 0;
  PacketQueue small(1 << 20, {room, modest});
  while (small.push({packet(1200)}, k_now)) {
  }
  EXPECT_GT(modest, 25000u);
  EXPECT_LE(room.used(), 120000u - modest);  // and there is as much for a third one
}

TEST(PacketQueue, AnIdleOneKeepsNoMemory) {
  SharedRoom room(10000);
  std::size_t used = 0;
  PacketQueue queue(5000, {room, used});
  queue.push({packet(1200)}, k_now);
  queue.release();
  EXPECT_GT(queue.allocated(), 0u);  // it is not empty
  queue.pop();
  queue.release();
  EXPECT_EQ(queue.allocated(), 0u);
}

TEST(PacketQueue, KeepsMarks) {
  SharedRoom room(1 << 20);
  std::size_t used = 0;
  PacketQueue queue(5000, {room, used});
  for (const quic::Ecn ecn : {quic::Ecn::kEct0, quic::Ecn::kNotEct, quic::Ecn::kEct1}) {
    queue.push({packet(3), ecn}, k_now);
  }
  EXPECT_EQ(queue.front().ecn, quic::Ecn::kEct0);
  queue.mark_front();
  EXPECT_EQ(queue.front().ecn, quic::Ecn::kCe);
  EXPECT_EQ(queue.front_time(), k_now);
  EXPECT_EQ(queue.front().payload.size(), 3u);
  queue.pop();
  EXPECT_EQ(queue.front().ecn, quic::Ecn::kNotEct);
  queue.pop();
  EXPECT_EQ(queue.front().ecn, quic::Ecn::kEct1);
}

}  // namespace
}  // namespace sheaf::tunnel
