#include "tunnel/rate_budget.h"

#include <gtest/gtest.h>

namespace sheaf::tunnel {
namespace {

using namespace std::chrono_literals;

// Asks for packets of 1000 bytes as often as it can. Returns the bytes that were granted.
std::size_t granted(RateBudget& budget, quic::Time from, quic::Duration time) {
  std::size_t bytes = 0;
  for (quic::Time now = from; now < from + time; now += 1ms) {
    for (int i = 0; i < 10; ++i) bytes += budget.take_to_target(1000, now) ? 1000 : 0;
  }
  return bytes;
}

TEST(RateBudget, GrantsItsRateAndAQuarterOfASecondAtOnce) {
  RateBudget budget(1e6);
  EXPECT_NEAR(static_cast<double>(granted(budget, quic::Time(1s), 2s)), 2.25e6, 2e4);
  // What was not used is not saved up.
  EXPECT_NEAR(static_cast<double>(granted(budget, quic::Time(60s), 1s)), 1.25e6, 2e4);
}

TEST(RateBudget, CountsDirectionsApart) {
  RateBudget budget(1000);
  const quic::Time now(1s);
  while (budget.take_to_target(1000, now)) {
  }
  EXPECT_TRUE(budget.take_to_client(1000, now));
  EXPECT_TRUE(budget.take_to_target(100, now + 1s));
}

TEST(RateBudget, HasRoomForTheLargestPacket) {
  RateBudget budget(1);
  EXPECT_TRUE(budget.take_to_client(65527, quic::Time(1s)));
}

}  // namespace
}  // namespace sheaf::tunnel
