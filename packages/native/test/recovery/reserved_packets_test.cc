#include "recovery/reserved_packets.h"

#include "recovery/loss_fixture.h"

namespace sheaf::quic {
namespace {

class ReservedTest : public LossDetectionTest {
 protected:
  ReservedTest() { loss_.open_sender(1, 20ms); }
  PacketNumber reserve() {
    return reserve_packet(loss_, {.bytes = 1200, .sender = 1, .payload = 1000}, at_ms(0));
  }
};

TEST_F(ReservedTest, IsNeitherInFlightNorLostBeforeItIsKnownToBeSent) {
  const PacketNumber number = reserve();
  EXPECT_EQ(loss_.bytes_in_flight(), 0u);
  EXPECT_EQ(next_timeout(), k_never);
  send_many(5, at_ms(0));
  acknowledge({{.first = 1, .last = 5}}, at_ms(10));
  EXPECT_TRUE(listener_.lost.empty());
  EXPECT_EQ(next_timeout(), k_never);
  EXPECT_TRUE(send_reserved(loss_, number, false, at_ms(20)));
  EXPECT_EQ(loss_.bytes_in_flight(), 1200u);
  EXPECT_NE(next_timeout(), k_never);
  EXPECT_TRUE(loss_.runs_in_flight());
}

TEST_F(ReservedTest, GivesNoSampleOfARoundTrip) {
  const PacketNumber number = reserve();
  EXPECT_TRUE(send_reserved(loss_, number, false, at_ms(5)));
  acknowledge({{.first = 0, .last = 0}}, at_ms(6));
  EXPECT_EQ(listener_.acknowledged.size(), 1u);
  EXPECT_EQ(loss_.sender_rtt(1).samples, 0u);
  EXPECT_EQ(loss_.sender_rtt(1).largest_acknowledged, number);
  EXPECT_FALSE(rtt_.has_sample());
  EXPECT_EQ(loss_.bytes_in_flight(), 0u);
}

TEST_F(ReservedTest, MayBeAcknowledgedBeforeItIsKnownToBeSent) {
  reserve();
  acknowledge({{.first = 0, .last = 0}}, at_ms(6));
  EXPECT_EQ(listener_.acknowledged.size(), 1u);
  EXPECT_EQ(loss_.bytes_in_flight(), 0u);
}

TEST_F(ReservedTest, IsLostLikeOthersOnceItWasSent) {
  const PacketNumber number = reserve();
  EXPECT_TRUE(send_reserved(loss_, number, true, at_ms(0)));
  send_run(1, 3, at_ms(0));
  acknowledge({{.first = 1, .last = 3}}, at_ms(10));
  EXPECT_EQ(listener_.lost.size(), 1u);
}

TEST_F(ReservedTest, MustNotBeAcknowledgedWhenItWasRefused) {
  refuse_reserved(loss_, reserve(), at_ms(0), listener_);
  send_many(1, at_ms(0));
  EXPECT_FALSE(try_acknowledge({{.first = 0, .last = 1}}, at_ms(10)));
}

TEST_F(ReservedTest, MayBeAcknowledgedWhenNobodyCares) {
  forget_reserved(loss_, reserve());
  send_many(1, at_ms(0));
  acknowledge({{.first = 0, .last = 1}}, at_ms(10));
  EXPECT_FALSE(send_reserved(loss_, 0, false, at_ms(20)));
  EXPECT_EQ(loss_.bytes_in_flight(), 0u);
}

}  // namespace
}  // namespace sheaf::quic
