#include "util/interval_set.h"

#include <gtest/gtest.h>

#include <set>

#include "util/random.h"

namespace sheaf::quic {
namespace {

IntervalSet make(std::initializer_list<Interval> intervals) {
  IntervalSet set;
  for (const Interval& interval : intervals) set.insert(interval.start, interval.end);
  return set;
}

TEST(IntervalSet, AppendsAtTheEnd) {
  IntervalSet set;
  EXPECT_EQ(set.insert(0, 10), 10u);
  EXPECT_EQ(set.insert(10, 20), 10u);
  EXPECT_EQ(set.insert(15, 25), 5u);
  EXPECT_EQ(set.insert(30, 40), 10u);
  EXPECT_EQ(set, make({{0, 25}, {30, 40}}));
  EXPECT_EQ(set.count(), 35u);
}

TEST(IntervalSet, IgnoresEmptyIntervals) {
  IntervalSet set;
  EXPECT_EQ(set.insert(5, 5), 0u);
  EXPECT_EQ(set.insert(6, 5), 0u);
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(make({{0, 10}}).erase(7, 3), 0u);
}

TEST(IntervalSet, MergesWhatItBridges) {
  IntervalSet set = make({{0, 2}, {4, 6}, {8, 10}, {20, 30}});
  EXPECT_EQ(set.insert(2, 8), 4u);
  EXPECT_EQ(set, make({{0, 10}, {20, 30}}));
}

TEST(IntervalSet, InsertsBetween) {
  IntervalSet set = make({{0, 2}, {20, 30}});
  EXPECT_EQ(set.insert(5, 6), 1u);
  EXPECT_EQ(set.size(), 3u);
  EXPECT_EQ(set[1], (Interval{5, 6}));
}

TEST(IntervalSet, EraseSplits) {
  IntervalSet set = make({{0, 10}});
  EXPECT_EQ(set.erase(3, 5), 2u);
  EXPECT_EQ(set, make({{0, 3}, {5, 10}}));
}

TEST(IntervalSet, EraseTrimsAndRemoves) {
  IntervalSet set = make({{0, 10}, {20, 30}, {40, 50}});
  EXPECT_EQ(set.erase(5, 45), 20u);
  EXPECT_EQ(set, make({{0, 5}, {45, 50}}));
  EXPECT_EQ(set.erase(0, UINT64_MAX), 10u);
  EXPECT_TRUE(set.empty());
}

TEST(IntervalSet, FindsTheFirstGap) {
  const IntervalSet set = make({{0, 10}, {20, 30}});
  EXPECT_EQ(set.first_gap(), 10u);
  EXPECT_EQ(set.first_gap(10), 10u);
  EXPECT_EQ(set.first_gap(20), 30u);
  EXPECT_EQ(set.first_gap(99), 99u);
  EXPECT_EQ(IntervalSet{}.first_gap(), 0u);
}

TEST(IntervalSet, FindsTheIntervalAtOrAfterAValue) {
  const IntervalSet set = make({{5, 10}, {20, 30}});
  EXPECT_EQ(*set.find(0), (Interval{5, 10}));
  EXPECT_EQ(*set.find(9), (Interval{5, 10}));
  EXPECT_EQ(*set.find(10), (Interval{20, 30}));
  EXPECT_EQ(set.find(30), set.end());
}

TEST(IntervalSet, HoldsTheLargestValues) {
  IntervalSet set;
  EXPECT_EQ(set.insert(UINT64_MAX - 2, UINT64_MAX), 2u);
  EXPECT_EQ(set.insert(UINT64_MAX), 0u);
  EXPECT_TRUE(set.contains(UINT64_MAX - 1));
  EXPECT_FALSE(set.contains(UINT64_MAX));
}

// Compares the same operations with a std::set, which is slow and obviously right.
TEST(IntervalSet, AgreesWithASetOfValues) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random{seed};
    IntervalSet set;
    std::set<std::uint64_t> model;
    for (int step = 0; step < 200; ++step) {
      const std::uint64_t start = random.below(100);
      const std::uint64_t end = start + random.below(12);
      std::uint64_t changed = 0;
      if (random.below(3) > 0) {
        for (std::uint64_t value = start; value < end; ++value) {
          changed += model.insert(value).second;
        }
        ASSERT_EQ(set.insert(start, end), changed);
      } else {
        for (std::uint64_t value = start; value < end; ++value) changed += model.erase(value);
        ASSERT_EQ(set.erase(start, end), changed);
      }
      ASSERT_EQ(set.count(), model.size());
    }
    for (std::uint64_t value = 0; value < 120; ++value) {
      ASSERT_EQ(set.contains(value), model.contains(value));
    }
    for (std::size_t i = 1; i < set.size(); ++i) ASSERT_LT(set[i - 1].end, set[i].start);
  }
}

}  // namespace
}  // namespace sheaf::quic
