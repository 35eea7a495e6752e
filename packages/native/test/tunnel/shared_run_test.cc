#include "sim/tunnel/shared_run.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_shared_seed = 1;

// Returns the largest and the smallest number of bytes that a flow got between two seconds.
std::pair<double, double> extremes(const SharedResult& result, std::size_t from, std::size_t to) {
  std::vector<double> bytes;
  for (std::size_t i = 0; i < result.received[to].size(); ++i) {
    bytes.push_back(static_cast<double>(result.received[to][i] - result.received[from][i]));
  }
  return {std::ranges::max(bytes), std::ranges::min(bytes)};
}

SharedSetting five_flows() {
  SharedSetting setting{.world = {.mode = TunnelMode::kRetransmit,
                                  .outer = CongestionAlgorithm::kBbrV1,
                                  .obedience = ObedienceConfig{.credit = CreditConfig{}},
                                  .fair = true},
                        .length = 6s};
  for (std::size_t i = 0; i < 5; ++i) {
    setting.flows.push_back(
        {.flow = {.server_round_trip = 60ms + 20ms * static_cast<int>(i)}, .stop = 20s});
  }
  return setting;
}

TEST(SharedRun, FlowsOfOneTunnelGetEqualSharesWhateverTheirRoundTripsAre) {
  const SharedResult result = run_shared(five_flows(), k_shared_seed);
  EXPECT_TRUE(result.intact);
  const auto [most, least] = extremes(result, 2, 5);
  EXPECT_LT(most, 1.05 * least);
  EXPECT_GT(most, 0.85 * 3 * 1'250'000 / 5);
}

TEST(SharedRun, FlowsOfSeveralTunnelsShareTheSlowLinkAndStop) {
  SharedSetting setting = five_flows();
  setting.flows.resize(2);
  setting.flows[1].flow.tunnel = 1;
  setting.length = 10s;
  setting.flows[1].start = 2s;
  setting.flows[1].stop = 7s;
  const SharedResult result = run_shared(setting, k_shared_seed);
  EXPECT_EQ(result.received[1][1], 0u);
  EXPECT_GT(result.received[6][1], result.received[4][1] + 300'000);
  // What was in flight when it stopped may still arrive.
  EXPECT_LE(result.received[9][1], result.received[6][1] + 200'000);
  EXPECT_GT(extremes(result, 7, 9).first, 0.8 * 2 * 1'250'000);
}

TEST(SharedRun, TheSameSeedGivesTheSameBytes) {
  SharedSetting setting = five_flows();
  setting.length = 1s;
  EXPECT_EQ(run_shared(setting, 5).digest, run_shared(setting, 5).digest);
  EXPECT_NE(run_shared(setting, 5).digest, run_shared(setting, 6).digest);
}

}  // namespace
}  // namespace sheaf::quic
