#include "http3/datagram_inbox.h"

#include <gtest/gtest.h>

namespace sheaf::http3 {
namespace {

void fill(DatagramInbox& inbox, std::size_t count) {
  const std::vector<std::uint8_t> payload(1200);
  for (std::size_t i = 0; i < count; ++i) inbox.on_datagram({.stream = {}, .payload = payload});
}

TEST(DatagramInbox, FreesWhatABurstTook) {
  DatagramInbox inbox;
  std::size_t taken = 0;
  fill(inbox, 1000);
  EXPECT_GE(inbox.capacity(), 1'200'000u);
  inbox.drain([&](Bytes payload) { taken += payload.size(); });
  EXPECT_EQ(taken, 1'200'000u);
  EXPECT_TRUE(inbox.empty());
  EXPECT_EQ(inbox.capacity(), 0u);
}

TEST(DatagramInbox, KeepsTheRoomOfAnOrdinaryTurn) {
  DatagramInbox inbox;
  fill(inbox, 16);
  const std::size_t capacity = inbox.capacity();
  inbox.drain([](Bytes) {});
  EXPECT_EQ(inbox.capacity(), capacity);
}

}  // namespace
}  // namespace sheaf::http3
