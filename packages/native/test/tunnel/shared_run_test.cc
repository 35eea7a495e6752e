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

SharedSetting eight_flows() {
  SharedSetting setting{.world = {.mode = TunnelMode::kRetransmit,
                                  .outer = CongestionAlgorithm::kBbrV1,
                                  .obedience = ObedienceConfig{.credit = CreditConfig{}},
                                  .fair = true},
                        .length = 12s};
  for (std::size_t i = 0; i < 8; ++i) {
    setting.flows.push_back(
        {.flow = {.server_round_trip = 60ms + 20ms * static_cast<int>(i)}, .stop = 20s});
  }
  return setting;
}

TEST(SharedRun, FlowsOfOneTunnelGetEqualSharesWhateverTheirRoundTripsAre) {
  const SharedResult result = run_shared(eight_flows(), k_shared_seed);
  EXPECT_TRUE(result.intact);
  const auto [most, least] = extremes(result, 6, 11);
  EXPECT_LT(most, 1.05 * least);
  EXPECT_GT(most, 0.85 * 5 * 1'250'000 / 8);
}

TEST(SharedRun, FlowsOfSeveralTunnelsShareTheSlowLinkAndStop) {
  SharedSetting setting = eight_flows();
  setting.flows.resize(2);
  setting.flows[1].flow.tunnel = 1;
  setting.flows[1].start = 3s;
  setting.flows[1].stop = 9s;
  const SharedResult result = run_shared(setting, k_shared_seed);
  EXPECT_EQ(result.received[2][1], 0u);
  EXPECT_GT(result.received[8][1], result.received[5][1] + 500'000);
  // What was in flight when it stopped may still arrive.
  EXPECT_LE(result.received[11][1], result.received[8][1] + 200'000);
  EXPECT_GT(extremes(result, 9, 11).first, 0.8 * 2 * 1'250'000);
}

TEST(SharedRun, TheSameSeedGivesTheSameBytes) {
  SharedSetting setting = eight_flows();
  setting.length = 2s;
  EXPECT_EQ(run_shared(setting, 5).digest, run_shared(setting, 5).digest);
  EXPECT_NE(run_shared(setting, 5).digest, run_shared(setting, 6).digest);
}

}  // namespace
}  // namespace sheaf::quic
