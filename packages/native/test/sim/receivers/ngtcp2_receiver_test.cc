#include "sim/receivers/ngtcp2_receiver.h"

#include <gtest/gtest.h>

#include "sim/receivers/receiving.h"

namespace sheaf::quic {
namespace {

TEST(Ngtcp2Receiver, FillsTheLowestOf257Gaps) {
  Ngtcp2Receiver client;
  for (PacketNumber i = 1; i <= 257; ++i) client.receive(10 * i, true, at_ms(0));
  EXPECT_FALSE(client.receive(9, true, at_ms(1)));  // of the lowest gap
  EXPECT_TRUE(client.receive(19, true, at_ms(1)));
  EXPECT_FALSE(client.receive(20, true, at_ms(1)));
}

TEST(Ngtcp2Receiver, ReadsAndNeverAcknowledgesWhatLiesUnder33Ranges) {
  Ngtcp2Receiver client;
  for (PacketNumber i = 0; i < 33; ++i) client.receive(100 + 2 * i, true, at_ms(0));
  EXPECT_TRUE(client.receive(10, true, at_ms(1)));
  const auto reported = client.acknowledge(at_ms(1));
  EXPECT_EQ(reported.size(), 33u);
  EXPECT_EQ(reported.back().first, 100u);
  EXPECT_TRUE(client.receive(9, true, at_ms(2)));  // still read
  EXPECT_FALSE(client.receive(10, true, at_ms(2)));
}

TEST(Ngtcp2Receiver, ForgetsToReportAllUpToAConfirmedLargest) {
  Ngtcp2Receiver client;
  for (PacketNumber number : {0, 1, 5}) client.receive(number, true, at_ms(0));
  const auto reported = client.acknowledge(at_ms(0));
  client.receive(3, true, at_ms(1));
  client.receive(8, true, at_ms(1));
  client.on_ack_acknowledged(reported);
  EXPECT_EQ(as_text(client.acknowledge(at_ms(2))), "8-8");
  EXPECT_TRUE(client.receive(2, true, at_ms(3)));  // there is no floor
  EXPECT_EQ(as_text(client.acknowledge(at_ms(3))), "8-8 2-2");
}

TEST(Ngtcp2Receiver, AcknowledgesEverySecondPacketAndDisorderAtOnce) {
  Ngtcp2Receiver client;
  client.receive(0, true, at_ms(0));
  EXPECT_EQ(client.ack_deadline(), at_ms(25));
  client.receive(1, true, at_ms(1));
  EXPECT_EQ(client.ack_deadline(), at_ms(1));
  client.acknowledge(at_ms(1));
  client.receive(3, true, at_ms(2));
  EXPECT_EQ(client.ack_deadline(), at_ms(2));
  client.acknowledge(at_ms(2));
  client.receive(2, true, at_ms(3));
  EXPECT_EQ(client.ack_deadline(), at_ms(3));
}

}  // namespace
}  // namespace sheaf::quic
