#include <gtest/gtest.h>

#include "channel/world.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_rate_seeds = 2;

// A source that always has something to send
struct BulkSource {
  BulkSource(std::uint64_t seed, std::size_t members, double loss = 0)
      : world({.seed = seed,
               .leaf_loss = loss,
               .max_rate = k_fastest,
               .slowest_rate = k_slowest,
               .deadline = 2s,
               .repairs = true,
               .reach = 8000}) {
    for (std::size_t i = 0; i < members; ++i) world.add_member();
    world.simulation().run_for(200ms);
  }
  void limit(std::size_t member, std::uint64_t rate) {
    const LinkConfig leaf{.queue_bytes = 64 << 10, .rate = rate, .delay = 3ms};
    world.members()[member]->leaf->there.change(leaf, world.simulation().now());
  }
  // Returns bytes per second to the group.
  double send_for(Duration duration) {
    const std::uint64_t before = world.source().group_bytes();
    for (Duration at{}; at < duration; at += 5ms) {
      world.simulation().after(at, [this] { write(); });
    }
    world.simulation().run_for(duration);
    return static_cast<double>(world.source().group_bytes() - before) / to_seconds(duration);
  }
  void write() {
    ChannelSource& source = world.source().source();
    for (;;) {
      if (!group) group = source.open_group();
      if (!group) return;
      const auto bytes = pattern_from(group->index() + written, k_group - written);
      const SourceLog::Written taken = source.write(*group, bytes, true);
      written += taken.bytes;
      if (!taken.fin) return;
      group.reset();
      written = 0;
    }
  }

  static constexpr std::uint64_t k_slowest = 100'000;
  static constexpr std::uint64_t k_fastest = 5'000'000;
  static constexpr std::size_t k_group = 20'000;
  ChannelWorld world;
  std::optional<StreamId> group;
  std::size_t written = 0;
};

TEST(RateNetwork, WithoutLossTheRateRisesToTheFastest) {
  BulkSource run(1, 3);
  run.send_for(5s);
  EXPECT_GT(run.send_for(2s), 0.95 * BulkSource::k_fastest);
}

TEST(RateNetwork, FollowsTheSlowestLink) {
  for (std::uint64_t seed = 1; seed <= k_rate_seeds; ++seed) {
    BulkSource run(seed, 4);
    run.limit(1, 1'000'000);
    run.send_for(10s);
    const double rate = run.send_for(20s);
    EXPECT_GT(rate, 500'000);
    EXPECT_LT(rate, 1'050'000);
    EXPECT_EQ(run.world.source().source().held().moves(), 0u);
    run.limit(1, 2'000'000);
    run.send_for(10s);
    EXPECT_GT(run.send_for(10s), 1.3 * rate);
  }
}

TEST(RateNetwork, IsThatOfTcpWithTheSameLoss) {
  for (std::uint64_t seed = 1; seed <= k_rate_seeds; ++seed) {
    BulkSource run(seed, 1, 0.005);
    run.world.source().set_round_trip(60ms);
    run.send_for(10s);
    const double expected = tcp_rate(1200, 60ms, 0.005);
    const double rate = run.send_for(30s);
    EXPECT_GT(rate, 0.6 * expected);
    EXPECT_LT(rate, 1.6 * expected);
  }
}

// A receiver that says what it wants, over a request of its own
struct RateLiar {
  explicit RateLiar(ChannelWorld& its_world)
      : world(its_world), id(*world.source().source().add_receiver()) {
    source().on_state(id, {.state = ListenState::kReceiving}, world.simulation().now());
  }
  ChannelSource& source() { return world.source().source(); }
  void report_loss() {
    report.sequence += 1;
    report.end = source().ring().oldest() + 100;
    report.lost += 1;
    report.missing = {};
    report.missing.push_back({report.end - 2, report.end - 1});
    source().on_report(id, report, world.simulation().now(), 500ms);
  }

  ChannelWorld& world;
  ChannelSource::ReceiverId id;
  ChannelReport report;
};

TEST(RateNetwork, WhoReportsALossAndThenNothingSlowsTheOthersForAWhile) {
  BulkSource run(1, 3);
  run.send_for(4s);
  RateLiar liar(run.world);
  run.send_for(1s);
  liar.report_loss();
  run.send_for(1s);
  liar.report_loss();
  EXPECT_LT(run.send_for(2s), 0.6 * BulkSource::k_fastest);
  run.send_for(3s);
  EXPECT_GT(run.send_for(1s), 0.9 * BulkSource::k_fastest);
  EXPECT_TRUE(liar.source().served().held == 0) << "it is not silent because it gets copies";
}

TEST(RateNetwork, CopiesForWhoHearsNoGroupAreFast) {
  BulkSource run(1, 1);
  run.world.members()[0]->leaf->there.change({.loss = 1}, run.world.simulation().now());
  run.send_for(8s);
  const std::uint64_t before = run.world.source().copied_bytes();
  run.send_for(2s);
  EXPECT_GT(run.world.source().copied_bytes() - before, 5 * 2 * BulkSource::k_slowest);
}

TEST(RateNetwork, ReceiverBelowTheFloorIsMovedAndSlowsNobody) {
  for (std::uint64_t seed = 1; seed <= k_rate_seeds; ++seed) {
    BulkSource run(seed, 5);
    run.limit(2, 40'000);
    run.send_for(12s);
    EXPECT_TRUE(run.world.source().source().held().is_held(2));
    EXPECT_GT(run.send_for(5s), 0.9 * BulkSource::k_fastest);
  }
}

}  // namespace
}  // namespace sheaf::quic
