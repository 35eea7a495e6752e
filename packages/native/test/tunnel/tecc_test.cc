#include "tunnel/tecc.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_rate = 1'250'000;  // 10 Mbit/s
constexpr std::uint64_t k_packet = 1400;     // bytes
constexpr Duration k_round_trip = 140ms;
// One packet in each round trip
constexpr double k_addition = 1400 / 0.14;

FeedbackReport report_of(std::uint64_t sequence, std::uint64_t queue, std::uint64_t repeated = 0) {
  return {.sequence = sequence,
          .rate = k_rate,
          .least_queue = queue,
          .packets_sent = 100,
          .packets_repeated = repeated,
          .tunnel_round_trip = 40ms};
}

double rate_after(const TeccConfig& config, const FeedbackReport& report) {
  Tecc tecc(config);
  tecc.on_report(report, k_round_trip, k_packet);
  return static_cast<double>(tecc.rate().value_or(0));
}

constexpr TeccConfig k_at_once{.ewma_weight = 1};

TEST(Tecc, KnowsNothingBeforeTheFirstReport) { EXPECT_FALSE(Tecc(k_at_once).rate()); }

TEST(Tecc, FollowsTheTunnelWhenNothingWaits) {
  EXPECT_NEAR(rate_after(k_at_once, report_of(1, 0)), k_rate + k_addition, 1);
}

TEST(Tecc, DrainsAQueueInTwoThirdsOfTheRoundTrip) {
  // A quarter of what the tunnel sends in that time
  const auto queue = static_cast<std::uint64_t>(0.25 * k_rate * 0.14 * 2 / 3);
  EXPECT_NEAR(rate_after(k_at_once, report_of(1, queue)), 0.75 * k_rate + k_addition, 20);
}

TEST(Tecc, NeverTakesAwayMoreThanHalf) {
  EXPECT_NEAR(rate_after(k_at_once, report_of(1, 1 << 30)), 0.5 * k_rate + k_addition, 1);
}

TEST(Tecc, LiterallyATenthSentAgainHalvesTheRate) {
  TeccConfig config = k_at_once;
  config.units = TeccConfig::Units::kLiteral;
  EXPECT_NEAR(rate_after(config, report_of(1, 0, 10)), 0.5 * k_rate + k_addition, 1);
}

TEST(Tecc, MendedATenthSentAgainCostsWhatIsSentAgainInACycle) {
  const double excess = 0.95 * 0.1 * 0.04 / (0.14 * 2 / 3);
  EXPECT_NEAR(rate_after(k_at_once, report_of(1, 0, 10)), (1 - excess) * k_rate + k_addition, 1);
}

TEST(Tecc, SmoothsAndDoesNotAccumulate) {
  Tecc tecc({.ewma_weight = 0.5});
  tecc.on_report(report_of(1, 1 << 30), k_round_trip, k_packet);
  EXPECT_NEAR(tecc.utilisation(), 0.75, 1e-9);
  tecc.on_report(report_of(2, 1 << 30), k_round_trip, k_packet);
  EXPECT_NEAR(tecc.utilisation(), 0.625, 1e-9);
  for (std::uint64_t i = 3; i < 60; ++i) tecc.on_report(report_of(i, 0), k_round_trip, k_packet);
  EXPECT_NEAR(static_cast<double>(*tecc.rate()), k_rate + k_addition, 1);
}

TEST(Tecc, IgnoresOldReportsAndThoseWithoutARate) {
  Tecc tecc(k_at_once);
  tecc.on_report(report_of(5, 0), k_round_trip, k_packet);
  const auto before = tecc.rate();
  tecc.on_report(report_of(5, 1 << 30), k_round_trip, k_packet);
  tecc.on_report(report_of(4, 1 << 30), k_round_trip, k_packet);
  tecc.on_report({.sequence = 6, .least_queue = 1 << 30}, k_round_trip, k_packet);
  EXPECT_EQ(tecc.rate(), before);
}

TEST(Tecc, StaysWithinBoundsWhateverAReportSays) {
  Tecc tecc(k_at_once);
  FeedbackReport report{.sequence = 1,
                        .rate = (std::uint64_t{1} << 62) - 1,
                        .least_queue = (std::uint64_t{1} << 62) - 1,
                        .packets_sent = 1,
                        .packets_repeated = 1,
                        .tunnel_round_trip = 1h};
  tecc.on_report(report, Duration::zero(), UINT32_MAX);
  EXPECT_LE(*tecc.rate(), 1'000'000'000'000u);
  report = {.sequence = 2, .rate = 1};
  tecc.on_report(report, Duration::max(), 0);
  EXPECT_LE(*tecc.rate(), 1u);
}

}  // namespace
}  // namespace sheaf::quic
