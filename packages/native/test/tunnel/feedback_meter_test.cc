#include "tunnel/feedback_meter.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

class FeedbackMeterTest : public ::testing::Test {
 protected:
  void arrive(Time now) {
    queue_.push(packet_, now);
    meter_.on_arrival(now);
  }
  void leave(Time now) {
    queue_.front(now);
    queue_.pop();
  }
  FeedbackReport report(std::uint64_t packets_sent, Time now) {
    return meter_.report(
        queue_, {.rate = 1000, .packets_sent = packets_sent, .minimum_round_trip = 40ms}, now);
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
  EXPECT_EQ(report(0, start_).sequence, 1u);
  EXPECT_EQ(meter_.next_timeout(), start_ + 40ms);
  arrive(start_ + 1ms);
  EXPECT_EQ(meter_.next_timeout(), start_ + 40ms);
  EXPECT_EQ(report(0, start_ + 40ms).sequence, 2u);
}

TEST_F(FeedbackMeterTest, CountsWhatHappenedInACycle) {
  for (int i = 0; i < 4; ++i) arrive(start_);
  report(10, start_);
  queue_.push_repeat(packet_, start_ + 5ms);
  leave(start_ + 10ms);
  leave(start_ + 10ms);
  arrive(start_ + 20ms);
  const FeedbackReport made = report(13, start_ + 40ms);
  EXPECT_EQ(made.packets_sent, 3u);
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
  report(1, start_);
  report(1, start_ + 40ms);
  EXPECT_EQ(meter_.next_timeout(), k_never);
  arrive(start_ + 1s);
  EXPECT_EQ(meter_.next_timeout(), start_ + 1s);
}

}  // namespace
}  // namespace sheaf::quic
