#include "emulation/loss.h"

#include <gtest/gtest.h>

#include "emulation/link_fixture.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_seed = 7001;
constexpr std::uint32_t k_count = 100'000;

// Counts the losses of a link with this configuration.
struct LossPattern {
  double share = 0;       // of all datagrams
  double mean_burst = 0;  // datagrams that are lost in a row
  double after_loss = 0;  // probability of a loss right after one
};

LossPattern measure(const LinkConfig& config) {
  Link link(config, k_seed);
  for (std::uint32_t i = 0; i < k_count; ++i) send(link, i, at_us(i), 4);
  std::vector<bool> lost(k_count, true);
  for (const Arrived& one : drain(link)) lost[one.number] = false;
  double losses = 0, bursts = 0, pairs = 0;
  for (std::uint32_t i = 0; i < k_count; ++i) {
    losses += lost[i];
    bursts += lost[i] && (i == 0 || !lost[i - 1]);
    pairs += i > 0 && lost[i] && lost[i - 1];
  }
  EXPECT_EQ(static_cast<double>(link.stats().lost), losses);
  return {losses / k_count, losses / bursts, pairs / losses};
}

class LossTest : public ::testing::Test {
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(k_seed)};
};

TEST_F(LossTest, AtRandomIsIndependent) {
  const LossPattern pattern = measure({.loss = 0.1});
  EXPECT_NEAR(pattern.share, 0.1, 0.005);
  EXPECT_NEAR(pattern.after_loss, 0.1, 0.015);
}

TEST_F(LossTest, CorrelationKeepsTheShare) {
  // A loss repeats with a probability of 0.6, and otherwise a new draw loses with 0.1.
  const LossPattern pattern = measure({.loss = 0.1, .loss_correlation = 0.6});
  EXPECT_NEAR(pattern.share, 0.1, 0.01);
  EXPECT_NEAR(pattern.after_loss, 0.64, 0.02);
}

TEST_F(LossTest, BurstsHaveTheirShareAndLength) {
  const LossPattern pattern = measure({.burst_loss = GilbertElliott::bursts(0.05, 8)});
  EXPECT_NEAR(pattern.share, 0.05, 0.005);
  EXPECT_NEAR(pattern.mean_burst, 8, 0.5);
}

TEST_F(LossTest, BothStatesMayLoseSome) {
  // The link is in the bad state for a third of the time.
  const GilbertElliott config{
      .enter_bad = 0.01, .leave_bad = 0.02, .loss_bad = 0.5, .loss_good = 0.02};
  EXPECT_NEAR(measure({.burst_loss = config}).share, 0.5 / 3 + 0.02 * 2 / 3, 0.02);
}

TEST_F(LossTest, ProcessesAddUp) {
  const LossPattern pattern = measure({.loss = 0.1, .burst_loss = GilbertElliott::bursts(0.2, 4)});
  EXPECT_NEAR(pattern.share, 1 - 0.9 * 0.8, 0.01);
}

TEST_F(LossTest, NothingIsLostUnasked) { EXPECT_EQ(measure({}).share, 0); }

}  // namespace
}  // namespace sheaf::quic
