#include "endpoint/shared_counts.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace sheaf::quic {
namespace {

using Claim = SharedCounts::Claim;

class SharedCountsTest : public testing::Test {
 protected:
  static std::optional<std::size_t> take(HeldCounts& held, std::vector<Claim> claims) {
    return held.take(claims);
  }

  std::shared_ptr<SharedCounts> all = std::make_shared<SharedCounts>();
};

TEST_F(SharedCountsTest, OneThreadMayHaveEverything) {
  HeldCounts first(all);
  HeldCounts second(all);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(take(first, {{"a", 5}}));
  EXPECT_EQ(take(second, {{"a", 5}}), 0u);
  first.give("a");
  EXPECT_FALSE(take(second, {{"a", 5}}));
  EXPECT_EQ(take(first, {{"a", 5}}), 0u);
  EXPECT_EQ(first.count("a"), 5u);
}

TEST_F(SharedCountsTest, TakesOneOfEachOrNothing) {
  HeldCounts held(all);
  ASSERT_FALSE(take(held, {{"user", 1}}));
  EXPECT_EQ(take(held, {{"all", 9}, {"user", 1}}), 1u);
  EXPECT_EQ(held.count("all"), 0u);
  EXPECT_EQ(take(held, {{"all", 0}, {"user", 1}}), 0u);
}

TEST_F(SharedCountsTest, AThreadThatEndsGivesBackWhatItHolds) {
  HeldCounts first(all);
  {
    HeldCounts second(all);
    for (int i = 0; i < 3; ++i) ASSERT_FALSE(take(second, {{"a", 4}, {"b", 9}}));
    ASSERT_FALSE(take(first, {{"a", 4}}));
    second.give("b");
  }
  EXPECT_EQ(all->count("a"), 1u);
  EXPECT_EQ(all->count("b"), 0u);
}

TEST_F(SharedCountsTest, WhoeverHasGivenAllHoldsNothing) {
  HeldCounts one(all);
  HeldCounts other(all);
  ASSERT_FALSE(take(one, {{"name", 2}}));
  ASSERT_FALSE(take(other, {{"name", 2}}));
  one.give_all();
  EXPECT_EQ(all->count("name"), 1u);
  one.give("name");
  EXPECT_EQ(all->count("name"), 1u);
}

TEST_F(SharedCountsTest, NobodyGivesWhatOthersHold) {
  HeldCounts first(all);
  HeldCounts second(all);
  ASSERT_FALSE(take(first, {{"a", 1}}));
  second.give("a");
  second.give("b");
  EXPECT_EQ(all->count("a"), 1u);
}

TEST_F(SharedCountsTest, ThreadsHaveTheirTurnsTogether) {
  HeldCounts first(all);
  HeldCounts second(all);
  Time now{1s};
  const auto turns = [&](std::uint64_t per_second) {
    int taken = 0;
    for (int i = 0; i < 20; ++i) taken += (i % 2 ? first : second).take_turn("a", per_second, now);
    return taken;
  };
  EXPECT_EQ(turns(6), 6);
  EXPECT_EQ(turns(6), 0);
  EXPECT_TRUE(first.take_turn("b", 6, now));
  now += 500ms;
  EXPECT_EQ(turns(6), 3);
  first.give_all();
  EXPECT_EQ(turns(6), 0);
  // Limits have changed: what was taken stays taken.
  EXPECT_EQ(turns(4), 0);
  now += 2s;
  EXPECT_EQ(turns(4), 4);
}

// A thread takes the time when its turn of the loop begins, which may be long.
TEST_F(SharedCountsTest, ThreadsWhoseClocksDifferHaveNoMoreTurns) {
  HeldCounts first(all);
  HeldCounts second(all);
  int taken = 0;
  for (int turn = 0; turn < 100; ++turn) {
    const Time now = Time{1s} + turn * 10ms;
    for (int i = 0; i < 1000; ++i) {
      taken += first.take_turn("a", 100, now);
      taken += second.take_turn("a", 100, now + 10ms);
    }
  }
  EXPECT_LE(taken, 202);
}

TEST_F(SharedCountsTest, NeverMoreThanThereMayBe) {
  constexpr std::size_t k_most = 50;
  std::vector<std::thread> threads;
  std::atomic<std::size_t> beyond = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      HeldCounts held(all);
      for (int round = 0; round < 2000; ++round) {
        const bool taken = !take(held, {{"a", k_most}});
        if (all->count("a") > k_most) ++beyond;
        if (taken && round % 3 != 0) held.give("a");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(beyond, 0u);
  EXPECT_EQ(all->count("a"), 0u);
}

}  // namespace
}  // namespace sheaf::quic
