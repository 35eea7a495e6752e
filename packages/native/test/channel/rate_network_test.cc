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
