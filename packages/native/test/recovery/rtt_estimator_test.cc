#include "recovery/rtt_estimator.h"

#include <gtest/gtest.h>

#include "recovery/times.h"

namespace sheaf::quic {
namespace {

TEST(RttEstimator, StartsFromTheRfcInitial) {
  RttEstimator rtt;
  EXPECT_FALSE(rtt.has_sample());
  EXPECT_EQ(rtt.smoothed(), 333ms);
  EXPECT_EQ(rtt.probe_timeout(Duration::zero()), 333ms + 4 * 166500us);
}

TEST(RttEstimator, FirstSampleReplacesTheInitial) {
  RttEstimator rtt;
  rtt.set_initial(50ms);
  EXPECT_EQ(rtt.smoothed(), 50ms);
  rtt.add_sample(100ms, 20ms, k_max_ack_delay, true);
  EXPECT_EQ(rtt.smoothed(), 100ms);
  EXPECT_EQ(rtt.variance(), 50ms);
  EXPECT_EQ(rtt.minimum(), 100ms);
  rtt.set_initial(1ms);
  EXPECT_EQ(rtt.smoothed(), 100ms);
}

TEST(RttEstimator, SubtractsThePeersDelayUnlessBelowTheMinimum) {
  RttEstimator rtt;
  rtt.add_sample(100ms, 0ms, k_max_ack_delay, true);
  rtt.add_sample(118ms, 10ms, k_max_ack_delay, true);  // adjusted 108
  EXPECT_EQ(rtt.smoothed(), 101ms);
  EXPECT_EQ(rtt.variance(), 39500us);
  const Duration smoothed = rtt.smoothed();
  rtt.add_sample(105ms, 10ms, k_max_ack_delay, true);  // 95 < minimum: not adjusted
  EXPECT_EQ(rtt.smoothed(), (7 * smoothed + 105ms) / 8);
}

TEST(RttEstimator, BoundsThePeersDelayOnlyAfterConfirmation) {
  RttEstimator before, after;
  for (RttEstimator* rtt : {&before, &after}) rtt->add_sample(100ms, 0ms, k_max_ack_delay, true);
  before.add_sample(180ms, 60ms, k_max_ack_delay, false);
  after.add_sample(180ms, 60ms, k_max_ack_delay, true);
  EXPECT_EQ(before.smoothed(), 102500us);
  EXPECT_EQ(after.smoothed(), 106875us);
}

TEST(RttEstimator, AbsurdDelaysAreHarmless) {
  RttEstimator rtt;
  rtt.add_sample(100ms, 0ms, k_max_ack_delay, false);
  rtt.add_sample(100ms, Duration::max(), k_max_ack_delay, false);
  rtt.add_sample(100ms, Duration::min(), k_max_ack_delay, false);
  EXPECT_EQ(rtt.smoothed(), 100ms);
  rtt.add_sample(-5ms, 0ms, k_max_ack_delay, false);
  EXPECT_GT(rtt.minimum(), Duration::zero());
}

TEST(RttEstimator, TimeoutsHaveTheGranularityAsFloor) {
  RttEstimator rtt;
  for (int i = 0; i < 200; ++i) rtt.add_sample(100us, 0ms, k_max_ack_delay, true);
  EXPECT_EQ(rtt.loss_delay(), 1ms);
  EXPECT_EQ(rtt.probe_timeout(k_max_ack_delay), rtt.smoothed() + 1ms + 25ms);
  rtt.add_sample(80ms, 0ms, k_max_ack_delay, true);
  EXPECT_EQ(rtt.loss_delay(), 90ms);
}

TEST(RttEstimator, PersistentCongestionForgetsTheMinimum) {
  RttEstimator rtt;
  rtt.add_sample(10ms, 0ms, k_max_ack_delay, true);
  rtt.add_sample(90ms, 0ms, k_max_ack_delay, true);
  EXPECT_EQ(rtt.minimum(), 10ms);
  rtt.on_persistent_congestion();
  EXPECT_EQ(rtt.minimum(), 90ms);
}

}  // namespace
}  // namespace sheaf::quic
