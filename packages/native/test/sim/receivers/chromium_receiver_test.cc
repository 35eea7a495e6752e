#include "sim/receivers/chromium_receiver.h"

#include <gtest/gtest.h>

#include "sim/receivers/receiving.h"

namespace sheaf::quic {
namespace {

constexpr Duration k_min_rtt = 40ms;

TEST(ChromiumReceiver, AcknowledgesEverySecondPacketAtFirstAndEveryTenthLater) {
  ChromiumReceiver client(k_min_rtt);
  EXPECT_TRUE(client.receive(0, true, at_ms(0)));
  EXPECT_EQ(client.ack_deadline(), at_ms(25));
  EXPECT_TRUE(client.receive(1, true, at_ms(1)));
  EXPECT_EQ(client.ack_deadline(), at_ms(1));
  receive_in_order(client, 2, 99, at_ms(2));
  client.acknowledge(at_ms(2));
  for (PacketNumber number = 100; number < 109; ++number) {
    client.receive(number, true, at_ms(3));
    EXPECT_EQ(client.ack_deadline(), at_ms(13)) << number;  // a quarter of the round trip
  }
  client.receive(109, true, at_ms(4));
  EXPECT_EQ(client.ack_deadline(), at_ms(4));
}

TEST(ChromiumReceiver, ReportsAGapForFourPackets) {
  ChromiumReceiver client(k_min_rtt);
  receive_in_order(client, 0, 199, at_ms(0));
  client.acknowledge(at_ms(0));
  for (PacketNumber number = 201; number <= 204; ++number) {
    client.receive(number, true, at_ms(1));
    EXPECT_EQ(client.ack_deadline(), at_ms(1)) << number;
    client.acknowledge(at_ms(1));
  }
  client.receive(205, true, at_ms(1));
  EXPECT_EQ(client.ack_deadline(), at_ms(11));
}

TEST(ChromiumReceiver, ReportsEveryPacketThatWasMissingBelowTheLastReport) {
  ChromiumReceiver client(k_min_rtt);
  receive_in_order(client, 0, 149, at_ms(0));
  receive_in_order(client, 160, 199, at_ms(0));
  client.acknowledge(at_ms(0));
  for (PacketNumber number = 150; number < 160; ++number) {
    client.receive(number, true, at_ms(1));
    EXPECT_EQ(client.ack_deadline(), at_ms(1)) << number;
    client.acknowledge(at_ms(1));
  }
}

TEST(ChromiumReceiver, RefusesAllUpToTheLargestOfAConfirmedAck) {
  ChromiumReceiver client(k_min_rtt);
  for (PacketNumber number : {0, 1, 5}) client.receive(number, true, at_ms(0));
  const auto reported = client.acknowledge(at_ms(0));
  EXPECT_TRUE(client.receive(2, true, at_ms(1)));  // not confirmed yet
  EXPECT_TRUE(client.receive(7, true, at_ms(2)));
  client.on_ack_acknowledged(reported);
  EXPECT_FALSE(client.receive(3, true, at_ms(3)));
  EXPECT_FALSE(client.receive(5, true, at_ms(3)));
  EXPECT_TRUE(client.receive(6, true, at_ms(3)));
  EXPECT_EQ(as_text(client.acknowledge(at_ms(3))), "6-7");
  EXPECT_FALSE(client.closed());
}

// The server's ACK came in a packet with a number from below.
TEST(ChromiumReceiver, ClosesWhenItHoldsNothingAboveAConfirmedAck) {
  ChromiumReceiver client(k_min_rtt);
  for (PacketNumber number : {0, 9}) client.receive(number, true, at_ms(0));
  const auto reported = client.acknowledge(at_ms(0));
  EXPECT_TRUE(client.receive(4, false, at_ms(1)));
  client.on_ack_acknowledged(reported);
  EXPECT_TRUE(client.closed());
  EXPECT_FALSE(client.receive(10, true, at_ms(2)));
}

TEST(ChromiumReceiver, DropsTheLowestOf256Ranges) {
  ChromiumReceiver client(k_min_rtt);
  for (PacketNumber i = 0; i < 300; ++i) client.receive(2 * i, true, at_ms(0));
  const auto reported = client.acknowledge(at_ms(0));
  EXPECT_EQ(reported.size(), 255u);
  EXPECT_EQ(reported.back().first, 2u * 45);
}

}  // namespace
}  // namespace sheaf::quic
