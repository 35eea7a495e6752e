#include "sim/receivers/neqo_receiver.h"

#include <gtest/gtest.h>

#include "sim/receivers/receiving.h"

namespace sheaf::quic {
namespace {

constexpr Duration k_rtt = 40ms;

TEST(NeqoReceiver, AcknowledgesEverySecondPacketAndDisorderAtOnce) {
  NeqoReceiver client(k_rtt);
  EXPECT_TRUE(client.receive(0, true, at_ms(0)));
  EXPECT_EQ(client.ack_deadline(), at_ms(20));
  EXPECT_TRUE(client.receive(1, true, at_ms(1)));
  EXPECT_EQ(client.ack_deadline(), at_ms(1));
  client.acknowledge(at_ms(1));
  client.receive(5, true, at_ms(2));  // a gap
  EXPECT_EQ(client.ack_deadline(), at_ms(2));
  client.acknowledge(at_ms(2));
  client.receive(3, true, at_ms(3));  // below
  EXPECT_EQ(client.ack_deadline(), at_ms(3));
  EXPECT_EQ(as_text(client.acknowledge(at_ms(3))), "5-5 3-3 0-1");
}

TEST(NeqoReceiver, AcknowledgesARoundTripAfterTheLastAck) {
  NeqoReceiver client(k_rtt);
  receive_in_order(client, 0, 1, at_ms(0));
  client.acknowledge(at_ms(0));
  client.receive(2, true, at_ms(35));
  EXPECT_EQ(client.ack_deadline(), at_ms(55));
  client.receive(3, false, at_ms(40));
  EXPECT_EQ(client.ack_deadline(), at_ms(40));
}

TEST(NeqoReceiver, RefusesAllUpToARangeThatTheThirtyThirdPushedOut) {
  NeqoReceiver client(k_rtt);
  for (PacketNumber i = 0; i < 32; ++i) client.receive(100 + 2 * i, true, at_ms(0));
  EXPECT_EQ(client.ranges(), 32u);
  EXPECT_TRUE(client.receive(200, true, at_ms(1)));
  EXPECT_EQ(client.ranges(), 32u);
  EXPECT_FALSE(client.receive(100, true, at_ms(2)));
  EXPECT_FALSE(client.receive(99, true, at_ms(2)));
  EXPECT_TRUE(client.receive(101, true, at_ms(2)));
}

// A sender with lower numbers starves: its packets are read, and repeated for want of an ACK.
TEST(NeqoReceiver, ReadsAndNeverAcknowledgesWhatLiesUnder32Ranges) {
  NeqoReceiver client(k_rtt);
  for (PacketNumber i = 0; i < 32; ++i) client.receive(100 + 2 * i, true, at_ms(0));
  for (PacketNumber number : {10, 11, 12}) {
    EXPECT_TRUE(client.receive(number, true, at_ms(1)));
    const auto reported = client.acknowledge(at_ms(1));
    EXPECT_EQ(reported.size(), 32u);
    EXPECT_EQ(reported.back().first, 100u);
  }
  EXPECT_FALSE(client.receive(9, true, at_ms(2)));
}

TEST(NeqoReceiver, TracksConfirmedRangesThatItNoLongerReports) {
  NeqoReceiver client(k_rtt);
  for (PacketNumber number : {0, 1, 5}) client.receive(number, true, at_ms(0));
  client.on_ack_acknowledged(client.acknowledge(at_ms(0)));
  client.receive(9, true, at_ms(1));
  EXPECT_EQ(as_text(client.acknowledge(at_ms(1))), "9-9");
  EXPECT_EQ(client.ranges(), 3u);
  EXPECT_FALSE(client.receive(1, true, at_ms(2)));
  EXPECT_TRUE(client.receive(2, true, at_ms(2)));  // there is no floor
  EXPECT_EQ(as_text(client.acknowledge(at_ms(2))), "9-9 0-2");
}

TEST(NeqoReceiver, ObeysAckFrequency) {
  NeqoReceiver client(k_rtt);
  client.set_ack_frequency(32, 30ms, true);
  client.receive(0, true, at_ms(0));
  EXPECT_EQ(client.ack_deadline(), at_ms(30));
  for (PacketNumber i = 1; i < 32; ++i) client.receive(3 * i, true, at_ms(1));  // gaps
  EXPECT_EQ(client.ack_deadline(), at_ms(30));
  client.receive(1, true, at_ms(2));
  EXPECT_EQ(client.ack_deadline(), at_ms(2));
}

}  // namespace
}  // namespace sheaf::quic
