#include "congestion/bbr_v1/bbr_v1.h"

#include <gtest/gtest.h>

#include "congestion/emulated_path.h"

namespace sheaf::quic {
namespace {

class BbrV1Test : public ::testing::Test, protected EmulatedPath {
 protected:
  using State = BbrV1::State;

  BbrV1Test() : EmulatedPath(bbr_) {}

  bool reach(State state, double lost_share = 0) {
    for (int i = 0; i < 200 && bbr_.state() != state; ++i) full_round(lost_share);
    return bbr_.state() == state;
  }
  double mean_rate(int rounds, double lost_share) {
    const std::uint64_t before = delivered_;
    const Time start = now_;
    for (int i = 0; i < rounds; ++i) full_round(lost_share);
    return static_cast<double>(delivered_ - before) / to_seconds(now_ - start);
  }

  BbrV1 bbr_{{.algorithm = CongestionAlgorithm::kBbrV1, .max_datagram_size = k_datagram}};
};

TEST_F(BbrV1Test, StartsWithTheInitialWindowPacedByTheFirstRoundTrip) {
  EXPECT_EQ(bbr_.window(), 10 * k_datagram);
  round(10 * k_datagram);
  EXPECT_NEAR(static_cast<double>(bbr_.pacing_rate()), 2.89 * 10 * k_datagram / 0.1, 1000);
}

TEST_F(BbrV1Test, FindsTheBandwidthAndDrainsItsQueue) {
  ASSERT_TRUE(reach(State::kProbeBandwidth));
  EXPECT_NEAR(bbr_.bandwidth(), 1e6, 0.02 * 1e6);
  EXPECT_EQ(bbr_.minimum_rtt(), base_rtt_);
  for (int i = 0; i < 40; ++i) {
    full_round();
    EXPECT_LE(bbr_.window(), static_cast<std::uint64_t>(2.1 * k_path));
    EXPECT_GE(bbr_.pacing_rate(), 740'000u);
    EXPECT_LE(bbr_.pacing_rate(), 1'270'000u);
  }
}

// What sets it apart from the present version
TEST_F(BbrV1Test, ManyRandomLossesDoNotSlowItDown) {
  ASSERT_TRUE(reach(State::kProbeBandwidth, 0.1));
  EXPECT_GE(mean_rate(100, 0.1), 0.7e6);
  EXPECT_GE(static_cast<double>(bbr_.window()), 1.7 * k_path);
}

TEST_F(BbrV1Test, EachCycleProbesOnceAndDrainsAfterwards) {
  ASSERT_TRUE(reach(State::kProbeBandwidth));
  int above = 0;
  int below = 0;
  for (int i = 0; i < 64 && bbr_.state() == State::kProbeBandwidth; ++i) {
    // What probes adds to the queue in each round.
    const double paced = static_cast<double>(bbr_.pacing_rate()) * to_seconds(base_rtt_);
    round(paced > 1.2 * k_path ? 1.1 * paced : paced);
    const double gain = static_cast<double>(bbr_.pacing_rate()) / bbr_.bandwidth();
    above += gain > 1.2 ? 1 : 0;
    below += gain < 0.8 ? 1 : 0;
  }
  EXPECT_GE(above, 4);
  EXPECT_GE(below, 4);
}

TEST_F(BbrV1Test, MeasuresAnEmptyPathEveryTenSeconds) {
  ASSERT_TRUE(reach(State::kProbeBandwidth));
  ASSERT_TRUE(reach(State::kProbeRtt));
  EXPECT_EQ(bbr_.window(), 4 * k_datagram);
  base_rtt_ = 120ms;  // the path has become longer
  ASSERT_TRUE(reach(State::kProbeBandwidth));
  EXPECT_EQ(bbr_.minimum_rtt(), base_rtt_);
  EXPECT_GT(bbr_.window(), 4 * k_datagram);
}

TEST_F(BbrV1Test, FollowsAPathThatBecomesSlower) {
  ASSERT_TRUE(reach(State::kProbeBandwidth));
  EXPECT_GT(bbr_.bandwidth(), 0.9e6);
  for (int i = 0; i < 12; ++i) round(0.2 * k_path);
  EXPECT_LT(bbr_.bandwidth(), 0.25e6);
}

TEST_F(BbrV1Test, AnApplicationThatSendsLittleDoesNotMakeThePathLookSlow) {
  ASSERT_TRUE(reach(State::kProbeBandwidth));
  const double known = bbr_.bandwidth();
  application_limited_ = true;
  for (int i = 0; i < 30; ++i) round(0.1 * k_path);
  EXPECT_EQ(bbr_.bandwidth(), known);
}

TEST_F(BbrV1Test, APathThatDeliversNothingMakesTheWindowSmallUntilSomethingArrives) {
  ASSERT_TRUE(reach(State::kProbeBandwidth));
  bbr_.on_congestion({.now = now_, .lost_bytes = 50'000, .persistent = true});
  EXPECT_EQ(bbr_.window(), 4 * k_datagram);
  for (int i = 0; i < 6; ++i) full_round();
  EXPECT_GT(static_cast<double>(bbr_.window()), k_path);
}

TEST_F(BbrV1Test, SpuriousLossRestoresTheWindow) {
  ASSERT_TRUE(reach(State::kProbeBandwidth));
  const std::uint64_t before = bbr_.window();
  bbr_.on_congestion({.now = now_, .lost_bytes = 50'000, .persistent = true});
  bbr_.on_spurious_congestion(now_);
  EXPECT_EQ(bbr_.window(), before);
}

}  // namespace
}  // namespace sheaf::quic
