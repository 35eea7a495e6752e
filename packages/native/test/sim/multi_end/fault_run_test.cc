// Checks the table of faults in docs/results/multi-end.md on a few seeds; `sheaf bench multi-end
// --sim` runs fifty of each.
#include "sim/multi_end/fault_run.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_fault_seeds = 4;

class Faults : public ::testing::TestWithParam<std::string> {};

TEST_P(Faults, CostNoRequestAndNoByte) {
  const auto fault = backend_fault_named(GetParam());
  ASSERT_TRUE(fault);
  for (std::uint64_t seed = 1; seed <= k_fault_seeds; ++seed) {
    const FaultSetting setting{.fault = *fault,
                               .keys = seed % 2 == 0 ? KeyMode::kShared : KeyMode::kPerPath,
                               .key_update = seed > 2,
                               .seed = seed};
    SCOPED_TRACE("seed " + std::to_string(seed));
    const FaultResult result = run_fault(setting);
    EXPECT_TRUE(result.finished);
    EXPECT_EQ(result.failed, 0u);
    EXPECT_EQ(result.bytes_lost, 0u);
    EXPECT_LE(result.longest_stall, stall_bound(*fault));
    EXPECT_EQ(result.handshake_datagrams, 0u);
    EXPECT_EQ(result.key_updates > 0, setting.key_update);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Faults,
                         ::testing::Values("none", "backend-crash", "backend-drain", "backend-join",
                                           "primary-crash", "backbone-cut", "path-cut",
                                           "client-rebinding", "client-migration"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(FaultRun, ReplaysWithItsSeed) {
  const FaultSetting setting{.fault = BackendFault::kBackendCrash, .seed = 9};
  const FaultResult first = run_fault(setting);
  EXPECT_EQ(run_fault(setting).digest, first.digest);
  EXPECT_GT(first.repeated, 0u) << "something was lost with the backend";
  EXPECT_NE(run_fault({.fault = BackendFault::kBackendCrash, .seed = 10}).digest, first.digest);
}

TEST(FaultRun, KnowsTheNamesOfFaults) {
  EXPECT_EQ(backend_fault_named("path-cut"), BackendFault::kPathCut);
  EXPECT_FALSE(backend_fault_named("flood"));
}

}  // namespace
}  // namespace sheaf::quic
