#include "sim/receivers/window_receiver.h"

#include <gtest/gtest.h>

#include "sim/receivers/receiving.h"

namespace sheaf::quic {
namespace {

TEST(WindowReceiver, RefusesWhatLies128BelowTheLargest) {
  WindowReceiver client;
  EXPECT_TRUE(client.receive(1000, true, at_ms(0)));
  EXPECT_TRUE(client.receive(1000 - 127, true, at_ms(0)));
  EXPECT_FALSE(client.receive(1000 - 128, true, at_ms(0)));
  EXPECT_FALSE(client.receive(1000 - 127, true, at_ms(0)));
  EXPECT_FALSE(client.receive(1000, true, at_ms(0)));
}

TEST(WindowReceiver, RefusesWhatLies129BelowTheLargestWithOneMoreBit) {
  WindowReceiver client(129);
  EXPECT_TRUE(client.receive(1000, true, at_ms(0)));
  EXPECT_TRUE(client.receive(1000 - 128, true, at_ms(0)));
  EXPECT_FALSE(client.receive(1000 - 129, true, at_ms(0)));
}

TEST(WindowReceiver, AcknowledgesEverySecondPacketAndDisorderAtOnce) {
  WindowReceiver client;
  client.receive(0, true, at_ms(0));
  EXPECT_EQ(client.ack_deadline(), at_ms(25));
  client.receive(1, true, at_ms(1));
  EXPECT_EQ(client.ack_deadline(), at_ms(1));
  client.acknowledge(at_ms(1));
  client.receive(3, true, at_ms(2));
  EXPECT_EQ(client.ack_deadline(), at_ms(2));
  client.acknowledge(at_ms(2));
  client.receive(2, false, at_ms(3));
  EXPECT_EQ(client.ack_deadline(), k_never);
}

TEST(WindowReceiver, ReportsUpTo64RangesUntilTheyAreConfirmed) {
  WindowReceiver client;
  for (PacketNumber i = 0; i < 100; ++i) client.receive(2 * i, true, at_ms(0));
  const auto reported = client.acknowledge(at_ms(0));
  EXPECT_EQ(reported.size(), 64u);
  client.on_ack_acknowledged(reported);
  client.receive(201, true, at_ms(1));
  EXPECT_EQ(as_text(client.acknowledge(at_ms(1))), "201-201");
  EXPECT_TRUE(client.receive(197, true, at_ms(2)));  // there is no floor
}

}  // namespace
}  // namespace sheaf::quic
