#include "congestion/olia.h"

#include <gtest/gtest.h>

#include "congestion/new_reno.h"
#include "congestion/window_driver.h"

namespace sheaf::quic {
namespace {

using Member = OliaCoupling::Member;

Member member(double packets, double since_loss, double round_trip = 0.1) {
  return {.window = packets * k_datagram,
          .datagram = k_datagram,
          .round_trip = round_trip,
          .since_loss = since_loss};
}

// Returns the growth in datagrams when a window is acknowledged.
double growth(const OliaCoupling& coupling, const Member& path) {
  return coupling.growth(path) * path.window;
}

TEST(OliaCoupling, OnePathGrowsLikeReno) {
  OliaCoupling coupling;
  const Member only = member(50, 1e6);
  coupling.join(only);
  EXPECT_DOUBLE_EQ(growth(coupling, only), 1);
}

TEST(OliaCoupling, EqualPathsGrowTogetherLikeOneOfTheirRate) {
  OliaCoupling coupling;
  const Member first = member(50, 1e6), second = member(50, 1e6);
  coupling.join(first);
  coupling.join(second);
  EXPECT_DOUBLE_EQ(growth(coupling, first), 0.25);
  EXPECT_DOUBLE_EQ(growth(coupling, second), 0.25);
}

TEST(OliaCoupling, ABetterPathWithASmallerWindowIsFavoured) {
  OliaCoupling coupling;
  const Member large = member(60, 1e6), better = member(40, 3e6);
  coupling.join(large);
  coupling.join(better);
  EXPECT_DOUBLE_EQ(growth(coupling, better), 0.4 * 0.4 + 0.5);
  EXPECT_DOUBLE_EQ(growth(coupling, large), 0.6 * 0.6 - 0.5);
}

TEST(OliaCoupling, BestAndLargestAtOnceNeedsNoCorrection) {
  OliaCoupling coupling;
  const Member large = member(60, 3e6), other = member(40, 1e6);
  coupling.join(large);
  coupling.join(other);
  EXPECT_DOUBLE_EQ(growth(coupling, large), 0.36);
  EXPECT_NEAR(growth(coupling, other), 0.16, 1e-12);
}

TEST(OliaCoupling, QualityCountsTheLongerOfTwoIntervalsOverTheSquareOfTheRoundTrip) {
  OliaCoupling coupling;
  Member fast = member(20, 0, 0.05), slow = member(60, 3e6, 0.1);
  fast.before_loss = 1e6;  // 4e8 against 3e8
  coupling.join(fast);
  coupling.join(slow);
  EXPECT_NEAR(growth(coupling, fast), 0.4 * 0.4 + 0.5, 1e-12);
}

TEST(OliaCoupling, ThreePathsShareTheCorrection) {
  OliaCoupling coupling;
  const Member large = member(60, 1e6), first = member(20, 2e6), second = member(20, 2e6);
  for (const Member* path : {&large, &first, &second}) coupling.join(*path);
  EXPECT_NEAR(growth(coupling, first), 0.04 + 1.0 / 6, 1e-12);
  EXPECT_NEAR(growth(coupling, second), 0.04 + 1.0 / 6, 1e-12);
  EXPECT_NEAR(growth(coupling, large), 0.36 - 1.0 / 3, 1e-12);
}

TEST(OliaCoupling, APathWithoutRoundTripIsNotCounted) {
  OliaCoupling coupling;
  const Member known = member(50, 1e6), fresh = member(10, 0, 0);
  coupling.join(known);
  coupling.join(fresh);
  EXPECT_DOUBLE_EQ(growth(coupling, known), 1);
  EXPECT_DOUBLE_EQ(growth(coupling, fresh), 1);
}

TEST(Olia, AloneItIsNewReno) {
  Olia olia({.algorithm = CongestionAlgorithm::kOlia, .max_datagram_size = k_datagram});
  NewReno reno({.max_datagram_size = k_datagram});
  WindowDriver olia_driver(olia), reno_driver(reno);
  for (WindowDriver* driver : {&olia_driver, &reno_driver}) {
    for (int i = 0; i < 4; ++i) driver->round();
    driver->lose();
    driver->now += 1ms;
    for (int i = 0; i < 20; ++i) driver->round();
    driver->lose();
    driver->now += 1ms;
    for (int i = 0; i < 20; ++i) driver->round();
  }
  EXPECT_NEAR(static_cast<double>(olia.window()), static_cast<double>(reno.window()), 2);
}

class CoupledOliaTest : public ::testing::Test {
 protected:
  std::unique_ptr<CongestionController> make() const {
    return make_congestion_controller({.algorithm = CongestionAlgorithm::kOlia,
                                       .max_datagram_size = k_datagram,
                                       .coupling = coupling_});
  }
  static void leave_slow_start(WindowDriver& driver) {
    for (int i = 0; i < 3; ++i) driver.round();
    driver.lose();
    driver.now += 1ms;
  }
  std::shared_ptr<OliaCoupling> coupling_ = std::make_shared<OliaCoupling>();
};

TEST_F(CoupledOliaTest, ControllersRegisterAndLeave) {
  auto first = make();
  {
    const auto second = make();
    EXPECT_EQ(coupling_->size(), 2u);
    first = make();  // a path that migrates
    EXPECT_EQ(coupling_->size(), 2u);
  }
  EXPECT_EQ(coupling_->size(), 1u);
  first.reset();
  EXPECT_EQ(coupling_->size(), 0u);
}

TEST_F(CoupledOliaTest, AnAbandonedPathNoLongerHoldsTheOthersBack) {
  const auto kept = make();
  auto abandoned = make();
  WindowDriver kept_driver(*kept), abandoned_driver(*abandoned);
  leave_slow_start(kept_driver);
  leave_slow_start(abandoned_driver);
  abandoned->on_path_abandoned();
  EXPECT_EQ(coupling_->size(), 1u);
  const std::uint64_t before = kept->window();
  for (int i = 0; i < 20; ++i) kept_driver.round();
  // The window grows by one datagram in each round, as on a single path.
  EXPECT_NEAR(static_cast<double>(kept->window() - before) / k_datagram, 20, 2);
  abandoned.reset();
  EXPECT_EQ(coupling_->size(), 1u);
}

TEST_F(CoupledOliaTest, TwoPathsOverOneBottleneckTakeWhatOneFlowTakes) {
  const auto first = make(), second = make();
  WindowDriver first_driver(*first), second_driver(*second);
  leave_slow_start(first_driver);
  leave_slow_start(second_driver);
  const std::uint64_t before = first->window() + second->window();
  for (int i = 0; i < 20; ++i) {
    first_driver.round();
    second_driver.round();
  }
  // Two Renos would have grown by forty datagrams; these paths grow by ten.
  EXPECT_NEAR(static_cast<double>(first->window() + second->window() - before) / k_datagram, 10, 2);
}

TEST_F(CoupledOliaTest, TrafficMovesToThePathThatLosesLess) {
  const auto good = make(), bad = make();
  WindowDriver good_driver(*good), bad_driver(*bad);
  leave_slow_start(good_driver);
  leave_slow_start(bad_driver);
  for (int i = 0; i < 300; ++i) {
    good_driver.round();
    bad_driver.round();
    if (i % 10 == 9) {
      bad_driver.lose();
      bad_driver.now += 1ms;
    }
    if (i % 60 == 59) {
      good_driver.lose();
      good_driver.now += 1ms;
    }
  }
  EXPECT_GT(good->window(), 4 * bad->window());
  EXPECT_GE(bad->window(), 2 * k_datagram);  // still there to be seen
}

// The length of the time without loss is still known after the loss, so the smaller window of that
// path grows faster.
TEST_F(CoupledOliaTest, OneLossDoesNotMakeAGoodPathBad) {
  const auto good = make(), other = make();
  WindowDriver good_driver(*good), other_driver(*other);
  leave_slow_start(good_driver);
  leave_slow_start(other_driver);
  for (int i = 0; i < 30; ++i) good_driver.round();
  for (int i = 0; i < 10; ++i) other_driver.round();
  good_driver.lose();
  good_driver.now += 1ms;
  good_driver.round();  // of what was sent before the response
  const std::uint64_t before = good->window();
  ASSERT_LT(before, other->window());
  good_driver.round();
  EXPECT_GT(static_cast<double>(good->window() - before), 0.5 * k_datagram);
}

TEST_F(CoupledOliaTest, SpuriousLossDoesNotCountAgainstThePath) {
  const auto first = make(), second = make();
  WindowDriver first_driver(*first), second_driver(*second);
  leave_slow_start(first_driver);
  leave_slow_start(second_driver);
  for (int i = 0; i < 5; ++i) first_driver.round();
  const std::uint64_t before = first->window();
  first_driver.lose();
  first->on_spurious_congestion(first_driver.now);
  EXPECT_EQ(first->window(), before);
}

}  // namespace
}  // namespace sheaf::quic
