#include "tunnel/feedback_meter.h"

#include <gtest/gtest.h>

#include "tunnel/inner_packet_queue.h"

namespace sheaf::quic {
namespace {

class FeedbackMeterTest : public ::testing::Test {
 protected:
  void arrive(Time now) {
    queue_.push(packet_, now);
    meter_.on_arrival(packet_.size(), now);
  }
  void leave(Time now) {
    queue_.front(now);
    queue_.pop();
  }
  FeedbackReport report(Time now) {
    return meter_.report(queue_.take_flow(now), {.rate = 1000, .minimum_round_trip = 40ms}, now);
  }

  const Time start_ = Time{} + 1s;
  const std::vector<std::uint8_t> packet_ = std::vector<std::uint8_t>(1000, 7);
  InnerPacketQueue queue_{{}};
  FeedbackMeter meter_;
};

TEST_F(FeedbackMeterTest, ReportsWithTheFirstPacketAndThenEachRoundTrip) {
  EXPECT_EQ(meter_.next_timeout(), k_never);
  arrive(start_);
  EXPECT_EQ(meter_.next_timeout(), start_);
  EXPECT_EQ(report(start_).sequence, 1u);
  EXPECT_EQ(meter_.next_timeout(), start_ + 40ms);
  arrive(start_ + 1ms);
  EXPECT_EQ(meter_.next_timeout(), start_ + 40ms);
  EXPECT_EQ(report(start_ + 40ms).sequence, 2u);
}

TEST_F(FeedbackMeterTest, CountsWhatHappenedInACycle) {
  for (int i = 0; i < 4; ++i) arrive(start_);
  report(start_);
  queue_.push_repeat(packet_, start_ + 5ms);
  leave(start_ + 10ms);
  leave(start_ + 10ms);
  arrive(start_ + 20ms);
  const FeedbackReport made = report(start_ + 40ms);
  EXPECT_EQ(made.packets_sent, 2u);
  EXPECT_EQ(made.packets_repeated, 1u);
  EXPECT_EQ(made.arrived, 5000u);
  EXPECT_EQ(made.left, 1000u);  // the repeat left first
  EXPECT_EQ(made.least_queue, 3000u);
  EXPECT_EQ(made.oldest_wait, 40ms);
  EXPECT_EQ(made.tunnel_round_trip, 40ms);
  EXPECT_EQ(made.rate, 1000u);
}

TEST_F(FeedbackMeterTest, FallsSilentWithoutPackets) {
  arrive(start_);
  leave(start_);
  report(start_);
  report(start_ + 40ms);
  EXPECT_EQ(meter_.next_timeout(), k_never);
  EXPECT_FALSE(meter_.active());
  arrive(start_ + 1s);
  EXPECT_EQ(meter_.next_timeout(), start_ + 1s);
  EXPECT_TRUE(meter_.active());
}

// The server acknowledges packets that carry reports. Otherwise each report would call for another.
TEST_F(FeedbackMeterTest, AcknowledgementsAloneCallForNoReport) {
  meter_.on_arrival(60, start_);
  EXPECT_EQ(meter_.next_timeout(), k_never);
  arrive(start_);
  leave(start_);
  report(start_);
  queue_.push(std::vector<std::uint8_t>(60, 7), start_ + 20ms);
  leave(start_ + 20ms);
  report(start_ + 40ms);
  EXPECT_EQ(meter_.next_timeout(), k_never);
}

}  // namespace
}  // namespace sheaf::quic
