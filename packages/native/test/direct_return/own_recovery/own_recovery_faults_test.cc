#include <gtest/gtest.h>

#include <string>

#include "sim/direct_return/return_fault_run.h"

namespace sheaf::quic {
namespace {

class OwnRecoveryFaults : public testing::TestWithParam<const char*> {};

// The same faults as with runs (test/sim/direct_return/faults_test.cc). direct_return_bench runs
// any number of seeds.
TEST_P(OwnRecoveryFaults, CostNoRequestAndNoByte) {
  const auto fault = return_fault_named(GetParam());
  ASSERT_TRUE(fault);
  for (std::uint64_t seed = 1; seed <= 1; ++seed) {
    for (const bool key_update : {false, true}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + (key_update ? ", keys updated" : ""));
      const auto result = run_return_fault(
          {.fault = *fault, .key_update = key_update, .own_recovery = true, .seed = seed});
      EXPECT_EQ(result.failed, 0u);
      EXPECT_EQ(result.bytes_wrong, 0u);
      // Virtual time: it depends on nothing but the seed.
      EXPECT_LE(result.longest_stall, return_stall_bound(*fault));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OwnRecoveryFaults,
                         testing::Values("none", "backend-death", "backend-restart",
                                         "backend-failure", "backend-drain", "source-filtered",
                                         "backbone-cut", "backbone-outage", "lost-messages",
                                         "rebinding", "key-update", "key-limit", "slow-client",
                                         "request-given-up", "second-path", "gateway-death"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace sheaf::quic
