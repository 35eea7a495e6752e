#include "tunnel/credit.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_rate = 1'000'000;  // bytes per second
constexpr std::uint64_t k_packet = 1000;

class CreditTest : public ::testing::Test {
 protected:
  // A report of a tunnel that has sent `left` bytes and has `queue` bytes more
  bool report(std::uint64_t left, std::uint64_t queue) {
    now_ += 40ms;
    FeedbackReport made{.sequence = ++sequence_,
                        .made = now_.time_since_epoch() - 90ms,
                        .rate = k_rate,
                        .least_queue = queue,
                        .arrived = left + queue,
                        .left = left,
                        .tunnel_round_trip = 40ms};
    return credit_.on_report(
        made, {.round_trip = 140ms, .bytes_sent = sent_, .packet_size = k_packet}, now_);
  }

  Credit credit_{{}};
  Time now_ = Time{} + 1s;
  std::uint64_t sequence_ = 0;
  std::uint64_t sent_ = 0;
};

// 140 ms of the rate, a quarter of 40 ms of it, and two packets
constexpr std::uint64_t k_target = 140'000 + 10'000 + 2 * k_packet;

TEST_F(CreditTest, GrantsOneLoopAndAShortQueueAtTheStart) {
  ASSERT_TRUE(report(0, 0));
  // Three reports may get lost.
  EXPECT_NEAR(static_cast<double>(credit_.bytes()), k_target + 120'000, 2);
  EXPECT_NEAR(static_cast<double>(credit_.rate()), 1.25 * k_rate, 2);
}

TEST_F(CreditTest, KeepsTheRateWhileAsMuchIsInFlightAsShouldBe) {
  report(0, 0);
  sent_ = 40'000 + k_target;
  report(40'000, 12'000);
  EXPECT_NEAR(static_cast<double>(credit_.rate()), k_rate, 2);
  EXPECT_NEAR(static_cast<double>(credit_.bytes()), 120'000, 2);
}

TEST_F(CreditTest, SlowsDownForBytesThatAreInFlightAlready) {
  report(0, 0);
  sent_ = 40'000 + k_target + 20'000;
  report(40'000, 12'000);
  EXPECT_NEAR(static_cast<double>(credit_.rate()), k_rate - 20'000 / 0.04, 2);
  sent_ += 1'000'000;
  report(80'000, 12'000);
  EXPECT_EQ(credit_.bytes(), 0u);
  EXPECT_LE(credit_.rate(), k_rate / 4 + 1);
}

TEST_F(CreditTest, FollowsWhatTheTunnelServes) {
  report(0, 0);
  std::uint64_t left = 0;
  for (int i = 0; i < 20; ++i) {
    left += 20'000;  // in 40 ms: half of the rate that the tunnel names
    sent_ = left + 77'000;
    report(left, 5000);
  }
  // Less what is in flight: 140 ms of the half, its queue and two packets
  EXPECT_NEAR(static_cast<double>(credit_.rate()), 500'000, 10'000);
}

TEST_F(CreditTest, WhatDidNotArriveInTimeIsLost) {
  report(0, 0);
  sent_ = 100'000;
  std::uint64_t before = 0;
  for (int i = 0; i < 8; ++i) {
    before = credit_.bytes();
    report(60'000, 0);
  }
  // 40,000 bytes never came. They are in flight no more.
  EXPECT_GT(credit_.bytes(), 0u);
  EXPECT_NEAR(static_cast<double>(before), static_cast<double>(credit_.bytes()), 3000);
  EXPECT_NEAR(static_cast<double>(credit_.bytes()), k_target + 120'000, 3000);
}

TEST_F(CreditTest, TwoReportsInAMomentTellNoRate) {
  report(0, 0);
  now_ -= 39ms;
  sent_ = 10'000 + k_target;
  report(10'000, 5000);  // within a millisecond
  EXPECT_NEAR(static_cast<double>(credit_.rate()), k_rate, 2);
}

TEST_F(CreditTest, IgnoresOldReports) {
  ASSERT_TRUE(report(0, 0));
  const std::uint64_t rate = credit_.rate();
  --sequence_;
  EXPECT_FALSE(report(50'000, 50'000));
  EXPECT_EQ(credit_.rate(), rate);
}

}  // namespace
}  // namespace sheaf::quic
