#include "tunnel/flow_queues.h"

#include <gtest/gtest.h>

#include <vector>

namespace sheaf::quic {
namespace {

constexpr Time k_now{};

void push(FlowQueues& queues, std::size_t flow, std::size_t count, std::size_t size) {
  const std::vector<std::uint8_t> packet(size, static_cast<std::uint8_t>(flow));
  for (std::size_t i = 0; i < count; ++i) queues.of(flow).push(packet, k_now);
}

// Takes packets, and returns the bytes of each flow in them.
std::vector<std::size_t> take(FlowQueues& queues, std::size_t packets, std::size_t flows) {
  std::vector<std::size_t> bytes(flows);
  for (std::size_t i = 0; i < packets; ++i) {
    const auto packet = queues.front(k_now);
    if (!packet) break;
    EXPECT_EQ(queues.front(k_now)->data(), packet->data()) << "asking changes nothing";
    bytes[(*packet)[0]] += packet->size();
    queues.pop();
  }
  return bytes;
}

TEST(FlowQueues, FlowsSendEquallyManyBytes) {
  FlowQueues queues({}, true);
  push(queues, 0, 300, 1400);
  push(queues, 1, 300, 700);
  push(queues, 2, 300, 100);
  const std::vector<std::size_t> bytes = take(queues, 340, 3);
  for (const std::size_t each : bytes) EXPECT_NEAR(static_cast<double>(each), 28'000, 3000);
}

TEST(FlowQueues, AFlowAloneSendsAllTheTime) {
  FlowQueues queues({}, true);
  push(queues, 3, 50, 1400);
  EXPECT_EQ(take(queues, 50, 4)[3], 70'000u);
  EXPECT_TRUE(queues.empty());
  EXPECT_FALSE(queues.front(k_now));
  // Turns that passed while it had nothing to send give it nothing.
  push(queues, 0, 10, 1400);
  push(queues, 3, 10, 1400);
  EXPECT_EQ(take(queues, 10, 4)[0], 7000u);
}

TEST(FlowQueues, AnUnfairOneKeepsTheOrderOfAllFlows) {
  FlowQueues queues({}, false);
  push(queues, 0, 9, 1000);
  push(queues, 1, 9, 1000);
  EXPECT_EQ(take(queues, 9, 2), (std::vector<std::size_t>{9000, 0}));
  EXPECT_EQ(&queues.of(0), &queues.of(1));
}

TEST(FlowQueues, AddsWhatItsQueuesCount) {
  FlowQueues queues({.limit = 1200}, true);
  push(queues, 0, 2, 1000);  // the second finds no room
  push(queues, 1, 1, 1000);
  EXPECT_EQ(queues.bytes(), 2000u);
  EXPECT_EQ(queues.counts().full, 1u);
  EXPECT_EQ(queues.counts().bytes_arrived, 3000u);
}

}  // namespace
}  // namespace sheaf::quic
