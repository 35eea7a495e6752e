#include "congestion/bbr/bbr.h"

#include <gtest/gtest.h>

#include <set>

#include "congestion/emulated_path.h"

namespace sheaf::quic {
namespace {

using State = Bbr::State;

class BbrTest : public ::testing::Test, protected EmulatedPath {
 protected:
  BbrTest() : EmulatedPath(bbr_) {}

  bool reach(State state, int rounds = 200) {
    for (int i = 0; i < rounds && bbr_.state() != state; ++i) full_round();
    return bbr_.state() == state;
  }

  Bbr bbr_{{.algorithm = CongestionAlgorithm::kBbr, .max_datagram_size = k_datagram, .seed = 7}};
};

TEST_F(BbrTest, StartsWithTheInitialWindowPacedByTheFirstRoundTrip) {
  EXPECT_EQ(bbr_.window(), 10 * k_datagram);
  EXPECT_GT(bbr_.pacing_rate(), 0u);
  EXPECT_TRUE(bbr_.in_slow_start());
  full_round();
  EXPECT_NEAR(static_cast<double>(bbr_.pacing_rate()), 2.77 * 120'000, 4000);
  EXPECT_EQ(bbr_.window(), 20 * k_datagram);
}

// Appendix of the draft: "Exiting STARTUP on Bandwidth Plateau".
TEST_F(BbrTest, LeavesStartupAfterThreeRoundsWithoutGrowth) {
  int rounds = 0;
  while (bbr_.state() == State::kStartup && ++rounds < 50) full_round();
  // 12, 24, 48 and 96 kB, and then three rounds with what the path carries.
  EXPECT_LE(rounds, 9);
  EXPECT_NEAR(bbr_.bandwidth(), 1e6, 2e4);
  EXPECT_EQ(bbr_.bounds().long_term_volume, bbr::k_infinity);
}

// "Exiting DRAIN Based on Inflight" and "Based on Time".
TEST_F(BbrTest, DrainsUntilTheQueueIsEmptyOrThreeRoundsPassed) {
  remains_in_flight_ = 200'000;
  ASSERT_TRUE(reach(State::kDrain));
  EXPECT_NEAR(static_cast<double>(bbr_.pacing_rate()), 0.5 * 0.99 * bbr_.bandwidth(), 10);
  full_round();
  full_round();
  EXPECT_EQ(bbr_.state(), State::kDrain);
  full_round();
  full_round();
  EXPECT_EQ(bbr_.state(), State::kProbeDown);
}

// "Exiting STARTUP on Loss When Application-Limited".
TEST_F(BbrTest, LeavesStartupWhenARoundLosesTooMuch) {
  application_limited_ = true;
  for (int i = 0; i < 3; ++i) round(96'000);
  ASSERT_EQ(bbr_.state(), State::kStartup);
  round(200'000, 0.3);
  full_round(0.3);
  EXPECT_NE(bbr_.state(), State::kStartup);
  EXPECT_LT(bbr_.bounds().long_term_volume, 200'000);
}

// "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss".
TEST_F(BbrTest, StaysInStartupWhileTheApplicationLimits) {
  application_limited_ = true;
  for (int i = 0; i < 50; ++i) round(20'000);
  EXPECT_EQ(bbr_.state(), State::kStartup);
}

TEST_F(BbrTest, CyclesThroughItsPhases) {
  for (int cycle = 0; cycle < 2; ++cycle) {
    ASSERT_TRUE(reach(State::kProbeCruise));
    EXPECT_NEAR(static_cast<double>(bbr_.pacing_rate()), 0.99 * bbr_.bandwidth(), 10);
    const Time cruise = now_;
    ASSERT_TRUE(reach(State::kProbeRefill));
    EXPECT_LT(now_ - cruise, 3200ms);
    full_round();
    ASSERT_EQ(bbr_.state(), State::kProbeUp);
    EXPECT_NEAR(static_cast<double>(bbr_.pacing_rate()), 1.25 * 0.99 * bbr_.bandwidth(), 10);
    ASSERT_TRUE(reach(State::kProbeDown, 5));
  }
}

TEST_F(BbrTest, ProbesTogetherOnlyWithTheSameSeed) {
  const auto first_probe = [this](std::uint64_t seed) {
    bbr_ = Bbr(
        {.algorithm = CongestionAlgorithm::kBbr, .max_datagram_size = k_datagram, .seed = seed});
    now_ = at_ms(1000);
    delivered_ = 0;
    EXPECT_TRUE(reach(State::kProbeUp)) << seed;
    return now_;
  };
  std::set<Time> times;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) times.insert(first_probe(seed));
  EXPECT_GT(times.size(), 3u);
  EXPECT_EQ(first_probe(5), first_probe(5));
}

TEST_F(BbrTest, AProbeThatLosesTooMuchSetsTheLongTermBound) {
  ASSERT_TRUE(reach(State::kProbeUp));
  remains_in_flight_ = 110'000;
  round(125'000, 0.1);
  EXPECT_EQ(bbr_.state(), State::kProbeDown);
  remains_in_flight_ = 0;
  EXPECT_LT(bbr_.bounds().long_term_volume, 126'000);
  EXPECT_GE(bbr_.bounds().long_term_volume, 0.7 * k_path);
  ASSERT_TRUE(reach(State::kProbeCruise));
  EXPECT_LE(static_cast<double>(bbr_.window()), 0.85 * bbr_.bounds().long_term_volume + 1);
}

// After four probes without a loss, the bound no longer limits anything.
TEST_F(BbrTest, TheLongTermBoundIsRaisedFasterAndFaster) {
  ASSERT_TRUE(reach(State::kProbeUp));
  round(70'000, 0.1);
  const double bound = bbr_.bounds().long_term_volume;
  ASSERT_LT(bound, 0.8 * k_path);
  for (int i = 0; i < 120; ++i) full_round();
  EXPECT_GT(bbr_.bounds().long_term_volume, k_path);
}

TEST_F(BbrTest, LossWhileCruisingBoundsTheShortTerm) {
  ASSERT_TRUE(reach(State::kProbeCruise));
  // The first round shows how much is lost. The second ends with the response.
  for (int i = 0; i < 4; ++i) full_round(0.1);
  EXPECT_LT(bbr_.bounds().rate, 0.95e6);
  EXPECT_GT(bbr_.bounds().rate, 0.69e6);  // never by more than 30 % at once
  EXPECT_LT(bbr_.bounds().volume, bbr::k_infinity);
  // The response lasts until the next probe.
  ASSERT_TRUE(reach(State::kProbeRefill));
  EXPECT_EQ(bbr_.bounds().rate, bbr::k_infinity);
}

TEST_F(BbrTest, AcceptableLossBoundsNothing) {
  ASSERT_TRUE(reach(State::kProbeCruise));
  for (int i = 0; i < 10; ++i) full_round(i % 2 == 0 ? 0.012 : 0);
  EXPECT_EQ(bbr_.bounds().rate, bbr::k_infinity);
  EXPECT_EQ(bbr_.bounds().volume, bbr::k_infinity);
}

TEST_F(BbrTest, CongestionMarksCountLikeLoss) {
  ASSERT_TRUE(reach(State::kProbeCruise));
  bbr_.on_congestion({.now = now_, .bytes_in_flight = 100'000, .ecn = true});
  full_round();
  full_round();
  EXPECT_LT(bbr_.bounds().volume, bbr::k_infinity);
  ASSERT_TRUE(reach(State::kProbeUp));
  bbr_.on_congestion({.now = now_, .bytes_in_flight = 110'000, .ecn = true});
  EXPECT_EQ(bbr_.state(), State::kProbeDown);
  EXPECT_LE(bbr_.bounds().long_term_volume, 110'000);
}

TEST_F(BbrTest, SpuriousLossIsForgotten) {
  ASSERT_TRUE(reach(State::kProbeUp));
  round(125'000, 0.1);
  ASSERT_LT(bbr_.bounds().long_term_volume, bbr::k_infinity);
  bbr_.on_spurious_congestion(now_);
  EXPECT_EQ(bbr_.bounds().long_term_volume, bbr::k_infinity);
  EXPECT_EQ(bbr_.state(), State::kProbeRefill);
}

TEST_F(BbrTest, ASpuriousEndOfStartupIsTakenBack) {
  for (int i = 0; i < 3; ++i) full_round();
  full_round(0.3);
  full_round(0.3);
  ASSERT_NE(bbr_.state(), State::kStartup);
  bbr_.on_spurious_congestion(now_);
  EXPECT_EQ(bbr_.state(), State::kStartup);
  EXPECT_EQ(bbr_.bounds().long_term_volume, bbr::k_infinity);
}

TEST_F(BbrTest, HalvesTheWindowEveryTenSecondsToSeeThePath) {
  ASSERT_TRUE(reach(State::kProbeCruise));
  remains_in_flight_ = 100'000;
  base_rtt_ = 105ms;  // the estimate is never renewed
  ASSERT_TRUE(reach(State::kProbeRtt));
  EXPECT_GE(now_ - at_ms(1000), 10s);
  EXPECT_NEAR(static_cast<double>(bbr_.window()), 0.5 * bbr_.bandwidth() * 0.1, 6000);
  const Time start = now_;
  remains_in_flight_ = 20'000;
  for (int i = 0; i < 20 && bbr_.state() == State::kProbeRtt; ++i) full_round();
  EXPECT_EQ(bbr_.state(), State::kProbeCruise);
  EXPECT_GE(now_ - start, 200ms);
  EXPECT_LE(now_ - start, 700ms);
  EXPECT_EQ(bbr_.minimum_rtt(), 105ms);
  EXPECT_GT(bbr_.window(), 150'000u);
  EXPECT_GT(bbr_.bandwidth(), 0.9e6);  // the little that was sent is not taken for the bandwidth
}

TEST_F(BbrTest, PersistentCongestionLeavesFourDatagramsThatGrowAgain) {
  ASSERT_TRUE(reach(State::kProbeCruise));
  bbr_.on_congestion({.now = now_, .lost_bytes = k_datagram, .persistent = true});
  EXPECT_EQ(bbr_.window(), 4 * k_datagram);
  full_round();
  EXPECT_EQ(bbr_.window(), 8 * k_datagram);
  for (int i = 0; i < 6; ++i) full_round();
  EXPECT_GT(bbr_.window(), 100'000u);
}

TEST_F(BbrTest, LargerDatagramsRaiseTheMinimum) {
  bbr_.on_congestion({.now = now_, .lost_bytes = k_datagram, .persistent = true});
  bbr_.on_mtu_change(1452);
  EXPECT_EQ(bbr_.window(), 4u * 1452);
}

TEST_F(BbrTest, RestartsAtTheBandwidthThatItKnows) {
  ASSERT_TRUE(reach(State::kProbeUp));
  application_limited_ = true;
  round(5000);
  ASSERT_EQ(bbr_.state(), State::kProbeUp);
  now_ += 5s;
  bbr_.on_packet_sent(now_, number_, k_datagram, k_datagram);
  EXPECT_NEAR(static_cast<double>(bbr_.pacing_rate()), 0.99 * bbr_.bandwidth(), 10);
}

}  // namespace
}  // namespace sheaf::quic
