#include "sim/receivers/own_receiver.h"

#include <gtest/gtest.h>

#include "sim/receivers/receiving.h"

namespace sheaf::quic {
namespace {

TEST(OwnReceiver, BehavesAsReceivedPackets) {
  OwnReceiver client;
  EXPECT_TRUE(client.receive(0, true, at_ms(0)));
  EXPECT_EQ(client.ack_deadline(), at_ms(25));
  client.receive(1, true, at_ms(1));
  EXPECT_EQ(client.ack_deadline(), at_ms(1));
  EXPECT_EQ(as_text(client.acknowledge(at_ms(1))), "0-1");
  EXPECT_FALSE(client.receive(1, true, at_ms(2)));
  for (PacketNumber i = 1; i <= 100; ++i) client.receive(10 * i, true, at_ms(3));
  const auto reported = client.acknowledge(at_ms(3));
  EXPECT_EQ(reported.size(), ReceivedPackets::k_max_ranges);
  EXPECT_FALSE(client.receive(reported.back().first - 10, true, at_ms(4)));
  client.on_ack_acknowledged(reported);
  EXPECT_TRUE(client.receive(995, true, at_ms(5)));  // there is no floor
  EXPECT_EQ(as_text(client.acknowledge(at_ms(5))), "1000-1000 995-995");
}

}  // namespace
}  // namespace sheaf::quic
