#include "channel/report_timer.h"

#include <gtest/gtest.h>

#include "channel/messages.h"

namespace sheaf::quic {
namespace {

constexpr Time k_lost_at{100s};

// Returns the delays of a thousand reports of a loss, ascending.
std::vector<Duration> delays_for(std::uint64_t receivers) {
  SeededRandom random(receivers);
  ChannelOffer offer = example_offer();
  offer.report_share = 0;
  std::vector<Duration> delays;
  for (int i = 0; i < 1000; ++i) {
    ReportTimer timer(offer, random, k_lost_at);
    timer.on_reported(false, k_lost_at - 60ms);
    timer.set_receivers(receivers);
    timer.on_loss(k_lost_at);
    delays.push_back(timer.due() - k_lost_at);
  }
  std::ranges::sort(delays);
  return delays;
}

TEST(ReportTimer, WaitsLongerWhereManyReceiversAre) {
  EXPECT_LE(delays_for(1).back(), 25ms);
  EXPECT_LE(delays_for(0).back(), 25ms);
  EXPECT_GT(delays_for(10).back(), 40ms);
  for (const std::uint64_t receivers : {std::uint64_t{1000}, ~std::uint64_t{0}}) {
    EXPECT_GT(delays_for(receivers).back(), 90ms);
    EXPECT_LE(delays_for(receivers).back(), 100ms);
  }
}

TEST(ReportTimer, LetsFewReceiversReportEarly) {
  const auto delays = delays_for(1000);
  const auto early =
      std::ranges::count_if(delays, [&](Duration each) { return each < delays.front() + 18ms; });
  EXPECT_LT(early, 30);
  EXPECT_GT(delays[500], 80ms);
}

TEST(ReportTimer, FollowsALossWithHalfOfAnIntervalBetweenReports) {
  SeededRandom random(2);
  ChannelOffer offer = example_offer();
  offer.report_share = 0;
  ReportTimer timer(offer, random, k_lost_at);
  timer.on_reported(true, k_lost_at);
  EXPECT_EQ(timer.due(), k_lost_at + 100ms);
  timer.on_loss(k_lost_at + 1ms);
  EXPECT_GE(timer.due(), k_lost_at + 50ms);
  EXPECT_LE(timer.due(), k_lost_at + 75ms);
  timer.on_nothing_missing();
  EXPECT_GE(timer.due(), k_lost_at + 100ms);
  EXPECT_TRUE(timer.is_quiet_due(timer.due()));
  timer.wait_until(k_lost_at + 10ms);
  EXPECT_GE(timer.due(), k_lost_at + 10ms);
  EXPECT_LE(timer.due(), k_lost_at + 35ms);
}

}  // namespace
}  // namespace sheaf::quic
