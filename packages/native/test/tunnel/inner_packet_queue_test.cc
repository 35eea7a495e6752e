#include "tunnel/inner_packet_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace sheaf::quic {
namespace {

Time at(Duration since_start) { return Time{} + 1s + since_start; }

std::vector<std::uint8_t> packet(std::uint8_t value, std::size_t size = 1000) {
  return std::vector<std::uint8_t>(size, value);
}

std::vector<std::uint8_t> take_all(InnerPacketQueue& queue, Time now) {
  std::vector<std::uint8_t> firsts;
  while (const auto front = queue.front(now)) {
    firsts.push_back((*front)[0]);
    queue.pop();
  }
  return firsts;
}

TEST(InnerPacketQueue, KeepsTheOrderAndCounts) {
  InnerPacketQueue queue({});
  for (std::uint8_t i = 1; i <= 3; ++i) EXPECT_TRUE(queue.push(packet(i), at(0ms)));
  EXPECT_EQ(queue.bytes(), 3000u);
  EXPECT_EQ(queue.oldest_wait(at(7ms)), 7ms);
  EXPECT_EQ(take_all(queue, at(7ms)), (std::vector<std::uint8_t>{1, 2, 3}));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.oldest_wait(at(9ms)), 0ms);
  EXPECT_EQ(queue.counts().queued, 3u);
  EXPECT_EQ(queue.counts().bytes_arrived, 3000u);
  EXPECT_EQ(queue.counts().bytes_left, 3000u);
}

TEST(InnerPacketQueue, DropsAndCountsWhatFindsNoRoom) {
  InnerPacketQueue queue({.limit = 2100});
  EXPECT_TRUE(queue.push(packet(1), at(0ms)));
  EXPECT_TRUE(queue.push(packet(2), at(0ms)));
  EXPECT_FALSE(queue.push(packet(3), at(0ms)));
  EXPECT_FALSE(queue.push_repeat(packet(4), at(0ms)));
  EXPECT_EQ(queue.counts().full, 2u);
  EXPECT_EQ(queue.counts().bytes_arrived, 3000u);
  EXPECT_EQ(take_all(queue, at(0ms)), (std::vector<std::uint8_t>{1, 2}));
  EXPECT_TRUE(queue.push(packet(5), at(0ms)));
}

TEST(InnerPacketQueue, CountsNoFraming) {
  InnerPacketQueue queue({.limit = 2100, .framing = 10});
  queue.push(packet(1), at(0ms));
  queue.push_repeat(packet(2), at(0ms));
  EXPECT_FALSE(queue.push(packet(3), at(0ms)));
  EXPECT_EQ(queue.bytes(), 1980u);
  EXPECT_EQ(queue.counts().bytes_arrived, 1980u);
  EXPECT_EQ(queue.counts().bytes_dropped, 990u);
  take_all(queue, at(0ms));
  EXPECT_EQ(queue.bytes(), 0u);
  EXPECT_EQ(queue.counts().taken, 2u);
  EXPECT_EQ(queue.counts().bytes_left, 990u);
}

TEST(InnerPacketQueue, RepeatsGoFirstUnlessToldOtherwise) {
  for (const bool first : {true, false}) {
    InnerPacketQueue queue({.repeats_first = first});
    queue.push(packet(1), at(0ms));
    queue.push_repeat(packet(9), at(1ms));
    queue.push(packet(2), at(2ms));
    EXPECT_EQ(take_all(queue, at(2ms)),
              first ? (std::vector<std::uint8_t>{9, 1, 2}) : (std::vector<std::uint8_t>{1, 2, 9}));
    EXPECT_EQ(queue.counts().repeated, 1u);
    EXPECT_EQ(queue.counts().bytes_left, 2000u);  // repeats left before
  }
}

TEST(InnerPacketQueue, TellsTheLeastBytesOfEachCycle) {
  InnerPacketQueue queue({});
  EXPECT_EQ(queue.take_least_bytes(), 0u);
  for (int i = 0; i < 4; ++i) queue.push(packet(1), at(0ms));
  EXPECT_EQ(queue.take_least_bytes(), 0u);  // it was empty in this cycle
  queue.front(at(0ms));
  queue.pop();
  queue.push(packet(1), at(0ms));
  EXPECT_EQ(queue.take_least_bytes(), 3000u);
  EXPECT_EQ(queue.take_least_bytes(), 4000u);
}

TEST(InnerPacketQueue, CoDelDropsFromAQueueThatStands) {
  InnerPacketQueue queue({.codel = true});
  int sent = 0;
  // Two packets come in each 2 ms, and one leaves: the queue grows without it.
  for (int ms = 0; ms < 2000; ms += 2) {
    queue.push(packet(1), at(Duration(ms * 1'000'000)));
    if (ms % 4 == 0) queue.push(packet(2), at(Duration(ms * 1'000'000)));
    if (queue.front(at(Duration(ms * 1'000'000)))) {
      queue.pop();
      ++sent;
    }
  }
  EXPECT_GE(sent, 990);
  EXPECT_GT(queue.counts().managed, 50u);
  EXPECT_EQ(queue.counts().full, 0u);
  EXPECT_EQ(queue.counts().queued, sent + queue.counts().managed + queue.bytes() / 1000);
}

TEST(InnerPacketQueue, CoDelLeavesRepeatsAlone) {
  InnerPacketQueue queue({.codel = true});
  for (int i = 0; i < 100; ++i) queue.push_repeat(packet(9), at(0ms));
  EXPECT_EQ(take_all(queue, at(5s)).size(), 100u);
  EXPECT_EQ(queue.counts().managed, 0u);
}

}  // namespace
}  // namespace sheaf::quic
