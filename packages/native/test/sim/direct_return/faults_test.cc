#include <gtest/gtest.h>

#include <string>

#include "sim/direct_return/return_fault_run.h"

namespace sheaf::quic {
namespace {

// direct_return_bench runs 50 seeds of each.
constexpr std::uint64_t k_seeds = 3;

class ReturnFaults : public testing::TestWithParam<const char*> {};

TEST_P(ReturnFaults, CostNoRequestAndNoByte) {
  const auto fault = return_fault_named(GetParam());
  ASSERT_TRUE(fault);
  for (std::uint64_t seed = 1; seed <= k_seeds; ++seed) {
    for (const bool key_update : {false, true}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + (key_update ? ", keys updated" : ""));
      const auto result =
          run_return_fault({.fault = *fault, .key_update = key_update, .seed = seed});
      EXPECT_EQ(result.failed, 0u);
      EXPECT_EQ(result.bytes_wrong, 0u);
      // Virtual time: it depends on nothing but the seed.
      EXPECT_LE(result.longest_stall, return_stall_bound(*fault));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReturnFaults,
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

TEST(ReturnFaultRun, DoesWhatItSays) {
  EXPECT_EQ(return_fault_named("no-such-fault"), std::nullopt);
  const auto lost = [](ReturnFault fault) { return run_return_fault({.fault = fault}).lost; };
  EXPECT_EQ(lost(ReturnFault::kNone), 0u);
  EXPECT_GT(lost(ReturnFault::kBackendDeath), 0u);
  EXPECT_GT(lost(ReturnFault::kSourceFiltered), 0u);
  const auto second_path = run_return_fault({.fault = ReturnFault::kSecondPath});
  EXPECT_GT(second_path.proxied, 0u);
  EXPECT_EQ(run_return_fault({.fault = ReturnFault::kKeyLimit}).key_updates, 1u);
  EXPECT_EQ(run_return_fault({}).digest, run_return_fault({}).digest);
}

}  // namespace
}  // namespace sheaf::quic
