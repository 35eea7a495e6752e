#include "flow_control/send_limit.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

TEST(SendLimit, IsUsedUp) {
  SendLimit limit(10);
  limit.consume(4);
  EXPECT_EQ(limit.available(), 6u);
  limit.consume(6);
  EXPECT_EQ(limit.available(), 0u);
}

TEST(SendLimit, IgnoresALimitThatIsNotLarger) {
  SendLimit limit(10);
  EXPECT_FALSE(limit.raise(10));
  EXPECT_FALSE(limit.raise(3));
  EXPECT_EQ(limit.limit(), 10u);
  EXPECT_TRUE(limit.raise(11));
}

TEST(SendLimit, SignalsEachLimitOnce) {
  SendLimit limit(1);
  EXPECT_FALSE(limit.note_blocked());
  limit.consume(1);
  EXPECT_TRUE(limit.note_blocked());
  EXPECT_FALSE(limit.note_blocked());
  limit.raise(2);
  EXPECT_FALSE(limit.note_blocked());
  limit.consume(1);
  EXPECT_TRUE(limit.note_blocked());
}

TEST(SendLimit, SignalsALimitOfZero) {
  SendLimit limit;
  EXPECT_TRUE(limit.note_blocked());
}

TEST(SendLimit, HasNothingAvailableWhenReplacedBySomethingSmaller) {
  SendLimit limit(10);
  limit.consume(8);
  limit.replace(5);
  EXPECT_EQ(limit.available(), 0u);
}

}  // namespace
}  // namespace sheaf::quic
