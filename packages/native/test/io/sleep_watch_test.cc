#include "io/sleep_watch.h"

#include <gtest/gtest.h>

namespace sheaf::io {
namespace {

using namespace std::chrono_literals;

TEST(SleepWatch, TellsEachSleepOnce) {
  SleepWatch watch(10s);
  EXPECT_FALSE(watch.woke(10s));
  EXPECT_TRUE(watch.woke(11s));
  EXPECT_FALSE(watch.woke(11s));
  EXPECT_TRUE(watch.woke(11s + 21ms));
}

// A thread that waited between both clocks makes the time look longer.
TEST(SleepWatch, IsNotDeceivedByAThreadThatWaits) {
  SleepWatch watch(10s + 15ms);
  EXPECT_FALSE(watch.woke(10s + 30ms));
  EXPECT_FALSE(watch.woke(10s));
  EXPECT_FALSE(watch.woke(10s + 20ms));
  EXPECT_TRUE(watch.woke(10s + 25ms)) << "more than the least";
}

TEST(SleepWatch, ReadsTheClocksOfThisComputer) {
  EXPECT_GE(time_asleep(), 0s);
  SleepWatch watch(time_asleep());
  EXPECT_FALSE(watch.woke(0s));
}

}  // namespace
}  // namespace sheaf::io
