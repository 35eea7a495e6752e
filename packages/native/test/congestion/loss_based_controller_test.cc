#include <gtest/gtest.h>

#include "congestion/window_driver.h"

namespace sheaf::quic {
namespace {

// Tests rules that hold for every controller that responds to loss.
class LossBasedControllerTest : public ::testing::TestWithParam<CongestionAlgorithm> {
 protected:
  std::unique_ptr<CongestionController> controller_ =
      make_congestion_controller({.algorithm = GetParam(), .max_datagram_size = k_datagram});
  WindowDriver driver_{*controller_};
};

INSTANTIATE_TEST_SUITE_P(Algorithms, LossBasedControllerTest,
                         ::testing::Values(CongestionAlgorithm::kNewReno,
                                           CongestionAlgorithm::kCubic, CongestionAlgorithm::kOlia),
                         [](const auto& parameter) {
                           return std::string(
                               make_congestion_controller({.algorithm = parameter.param})->name());
                         });

TEST_P(LossBasedControllerTest, StartsWithTenDatagramsAndDoubles) {
  EXPECT_EQ(controller_->window(), 10 * k_datagram);
  EXPECT_TRUE(controller_->in_slow_start());
  driver_.round();
  EXPECT_EQ(controller_->window(), 20 * k_datagram);
  driver_.round();
  EXPECT_EQ(controller_->window(), 40 * k_datagram);
}

TEST_P(LossBasedControllerTest, RespondsOncePerRoundTrip) {
  for (int i = 0; i < 4; ++i) driver_.round();
  const Time sent_before = driver_.now;
  driver_.lose();
  const std::uint64_t reduced = controller_->window();
  EXPECT_LT(reduced, 160 * k_datagram);
  EXPECT_FALSE(controller_->in_slow_start());
  controller_->on_congestion({.now = driver_.now + 10ms,
                              .lost_bytes = 5 * k_datagram,
                              .largest_lost_time_sent = sent_before});
  EXPECT_EQ(controller_->window(), reduced);
  driver_.now += 1ms;
  driver_.lose();
  EXPECT_LT(controller_->window(), reduced);
}

TEST_P(LossBasedControllerTest, DoesNotGrowInRecovery) {
  for (int i = 0; i < 4; ++i) driver_.round();
  const Time sent_before = driver_.now;
  driver_.lose();
  const std::uint64_t reduced = controller_->window();
  controller_->on_acknowledgement({.now = driver_.now + 1ms,
                                   .acknowledged_bytes = 10 * k_datagram,
                                   .largest_time_sent = sent_before});
  EXPECT_EQ(controller_->window(), reduced);
  for (int i = 0; i < 5; ++i) driver_.round();
  EXPECT_GT(controller_->window(), reduced);
}

TEST_P(LossBasedControllerTest, CongestionMarksCountLikeLoss) {
  for (int i = 0; i < 4; ++i) driver_.round();
  const std::uint64_t before = controller_->window();
  driver_.mark(driver_.now);
  EXPECT_LT(controller_->window(), before);
  const std::uint64_t reduced = controller_->window();
  // A response to CE marks is never spurious.
  controller_->on_spurious_congestion(driver_.now);
  EXPECT_EQ(controller_->window(), reduced);
}

TEST_P(LossBasedControllerTest, PersistentCongestionLeavesTwoDatagramsAndSlowStart) {
  for (int i = 0; i < 4; ++i) driver_.round();
  driver_.lose(/*persistent=*/true);
  EXPECT_EQ(controller_->window(), 2 * k_datagram);
  EXPECT_TRUE(controller_->in_slow_start());
  driver_.round();
  EXPECT_EQ(controller_->window(), 4 * k_datagram);
}

TEST_P(LossBasedControllerTest, NeverFallsBelowTwoDatagrams) {
  for (int i = 0; i < 30; ++i) {
    driver_.lose();
    driver_.now += 1ms;
  }
  EXPECT_EQ(controller_->window(), 2 * k_datagram);
}

TEST_P(LossBasedControllerTest, SpuriousLossGivesTheWindowBack) {
  for (int i = 0; i < 4; ++i) driver_.round();
  const std::uint64_t before = controller_->window();
  driver_.lose();
  ASSERT_LT(controller_->window(), before);
  controller_->on_spurious_congestion(driver_.now);
  EXPECT_EQ(controller_->window(), before);
  EXPECT_TRUE(controller_->in_slow_start());
  // The window is restored only once.
  driver_.lose();
  driver_.lose(/*persistent=*/true);
  controller_->on_spurious_congestion(driver_.now);
  EXPECT_EQ(controller_->window(), 2 * k_datagram);
}

TEST_P(LossBasedControllerTest, AnUnusedWindowDoesNotGrow) {
  driver_.application_limited = true;
  for (int i = 0; i < 5; ++i) driver_.round();
  EXPECT_EQ(controller_->window(), 10 * k_datagram);
}

TEST_P(LossBasedControllerTest, SlowStartEndsWhenTheRoundTripGrows) {
  for (int i = 0; i < 3; ++i) driver_.round();
  driver_.rtt = 130ms;
  for (int i = 0; i < 8; ++i) driver_.round();
  EXPECT_FALSE(controller_->in_slow_start());
  // Slow start would have brought 20,480 datagrams.
  EXPECT_LT(controller_->window(), 1000 * k_datagram);
}

TEST_P(LossBasedControllerTest, LargerDatagramsRaiseTheMinimum) {
  for (int i = 0; i < 30; ++i) {
    driver_.lose();
    driver_.now += 1ms;
  }
  controller_->on_mtu_change(1452);
  EXPECT_EQ(controller_->window(), 2u * 1452);
}

TEST_P(LossBasedControllerTest, LeavesPacingToWindowAndRoundTrip) {
  EXPECT_EQ(controller_->pacing_rate(), 0u);
}

TEST(Unlimited, NeverLimits) {
  const auto controller = make_congestion_controller({.algorithm = CongestionAlgorithm::kNone});
  WindowDriver driver(*controller);
  driver.lose(/*persistent=*/true);
  EXPECT_EQ(controller->window(), k_unlimited);
  EXPECT_EQ(controller->pacing_rate(), k_unlimited);
}

}  // namespace
}  // namespace sheaf::quic
