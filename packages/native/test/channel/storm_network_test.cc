#include <gtest/gtest.h>

#include "channel/world.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_storm_seeds = 5;
constexpr std::size_t k_storm_members = 40;
constexpr std::size_t k_storm_frame = 4000;          // bytes every 33 ms
constexpr std::uint64_t k_storm_budget = 1'300'000;  // for ten members
constexpr Duration k_storm_watch = 100ms;

// The tree of all members carries nothing for three seconds, and the budget suffices for a quarter
// of them.
struct Storm {
  explicit Storm(std::uint64_t seed)
      : world({.seed = seed,
               .branches = 1,
               .max_rate = 150'000,
               .deadline = 600ms,
               .copy_rate = k_storm_budget}) {
    for (std::size_t i = 0; i < k_storm_members; ++i) world.add_member();
    world.simulation().run_for(500ms);
    start = world.simulation().now();
    set_down(1s, true);
    set_down(4s, false);
    for (Duration at = k_storm_watch; at < 6s; at += k_storm_watch) {
      world.simulation().after(at, [this] { watch(); });
    }
    world.publish_for(6s, k_storm_frame);
    world.simulation().run_for(700ms);
  }
  void set_down(Duration at, bool down) {
    world.simulation().after(at, [this, down] {
      world.branch(0).there.change({.down = down, .delay = 3ms}, world.simulation().now());
    });
  }
  void watch() {
    const std::uint64_t copied = world.source().copied_bytes();
    if (watched) most_copied = std::max(most_copied, copied - *watched);
    watched = copied;
    most_waiting = std::max(most_waiting, world.source().source().served().waiting);
  }
  std::size_t served(Time from, Time until) {
    return static_cast<std::size_t>(std::ranges::count_if(world.members(), [&](const auto& member) {
      return world.late_frames(*member, from, until) == 0;
    }));
  }

  ChannelWorld world;
  Time start;
  std::optional<std::uint64_t> watched;
  std::uint64_t most_copied = 0;  // bytes in 100 ms
  std::size_t most_waiting = 0;
};

TEST(StormNetwork, CutTreeLeavesAllToThoseWhomTheBudgetCarries) {
  for (std::uint64_t seed = 1; seed <= k_storm_seeds; ++seed) {
    Storm storm(seed);
    // A burst of 32 packets may leave in one such time.
    EXPECT_LE(storm.most_copied, k_storm_budget / 10 + 33 * 1350);
    EXPECT_GE(storm.most_waiting, k_storm_members / 2);
    // Each of 40 would have a quarter of the packets otherwise, and no frame at all.
    EXPECT_GE(storm.served(storm.start + 2s, storm.start + 3s), 9u);
    EXPECT_EQ(storm.served(storm.start + 4500ms, k_never), k_storm_members);
    EXPECT_EQ(storm.world.source().source().served().waiting, 0u);
    EXPECT_EQ(storm.world.source().source().held().held(), 0u);
  }
}

}  // namespace
}  // namespace sheaf::quic
