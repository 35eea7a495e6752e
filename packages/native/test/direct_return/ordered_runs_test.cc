#include "direct_return/ordered_runs.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

TEST(OrderedRuns, KnowTheLengthOfARunOnce) {
  OrderedRuns runs;
  runs.add(10, 8);
  runs.add(40, 32);
  runs.add(72, 1);
  EXPECT_EQ(runs.take(40), 32);
  EXPECT_EQ(runs.take(40), 0);
  EXPECT_EQ(runs.take(41), 0);
  EXPECT_EQ(runs.take(72), 1);
  EXPECT_EQ(runs.take(10), 8);
}

TEST(OrderedRuns, ForgetTheOldest) {
  OrderedRuns runs;
  for (PacketNumber i = 0; i <= OrderedRuns::k_max_runs; ++i) runs.add(32 * i, 32);
  EXPECT_EQ(runs.take(0), 0);
  EXPECT_EQ(runs.take(32), 32);
}

}  // namespace
}  // namespace sheaf::quic
