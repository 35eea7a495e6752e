#include <gtest/gtest.h>

#include "channel/world.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_held_seeds = 10;
constexpr std::size_t k_held_frame = 4000;  // bytes: 3 packets every 33 ms

// Members with repairs, of which some lose much on their own links
struct LossyMembers {
  LossyMembers(std::uint64_t seed, std::size_t members, std::size_t lossy, double loss = 0.3)
      : world({.seed = seed, .leaf_loss = 0.01, .deadline = 600ms, .repairs = true}) {
    for (std::size_t i = 0; i < members; ++i) world.add_member();
    for (std::size_t i = 0; i < lossy; ++i) set_loss(i, loss);
    world.simulation().run_for(200ms);
  }
  void set_loss(std::size_t index, double loss) {
    world.members()[index]->leaf->there.change({.loss = loss, .delay = 3ms},
                                               world.simulation().now());
  }
  std::uint64_t repairs() { return world.source().source().repair_counts().repairs; }
  const HeldReceivers& held() { return world.source().source().held(); }

  ChannelWorld world;
};

TEST(HeldNetwork, LossyReceiverIsMovedAndCostsTheGroupNoRepairs) {
  std::uint64_t before = 0;
  std::uint64_t moved = 0;
  for (std::uint64_t seed = 1; seed <= k_held_seeds; ++seed) {
    LossyMembers run(seed, 6, 1);
    run.world.publish_for(3s, k_held_frame);
    before += run.repairs();
    run.world.publish_for(4s, k_held_frame);
    EXPECT_EQ(run.held().moves(), 1u);
    EXPECT_TRUE(run.held().is_held(0));
    EXPECT_EQ(run.world.source().source().served().by_group, 5u);
    const Time start = run.world.simulation().now();
    const std::uint64_t repairs = run.repairs();
    run.world.publish_for(3s, k_held_frame);
    moved += run.repairs() - repairs;
    run.world.simulation().run_for(700ms);
    for (const auto& member : run.world.members()) {
      EXPECT_EQ(run.world.late_frames(*member, start), 0u) << member->name;
      EXPECT_EQ(member->host->receiver().state(), ListenState::kReceiving);
    }
  }
  // Before, the lossy one and another lose a packet of a set together.
  EXPECT_LT(moved * 3, before);
}

TEST(HeldNetwork, MovedReceiverComesBackAndLosesNothing) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    LossyMembers run(seed, 4, 1);
    run.world.publish_for(7s, k_held_frame);
    ASSERT_EQ(run.held().held(), 1u);
    const Time start = run.world.simulation().now();
    run.set_loss(0, 0.01);
    run.world.publish_for(33s, k_held_frame);
    EXPECT_EQ(run.held().held(), 0u);
    const std::uint64_t copies = run.world.source().source().counts().copies;
    run.world.publish_for(3s, k_held_frame);
    run.world.simulation().run_for(700ms);
    // Some 280 packets, of which each of four loses one in a hundred
    EXPECT_LT(run.world.source().source().counts().copies, copies + 60);
    EXPECT_EQ(run.held().moves(), 1u);
    for (const auto& member : run.world.members()) {
      EXPECT_EQ(run.world.late_frames(*member, start), 0u) << member->name;
    }
  }
}

TEST(HeldNetwork, ModestLossMovesNobody) {
  for (std::uint64_t seed = 1; seed <= k_held_seeds; ++seed) {
    LossyMembers run(seed, 6, 6, 0.05);
    run.world.publish_for(10s, k_held_frame);
    EXPECT_EQ(run.held().moves(), 0u);
  }
}

TEST(HeldNetwork, AtMostAQuarterIsMoved) {
  LossyMembers run(1, 8, 8);
  run.world.publish_for(10s, k_held_frame);
  EXPECT_EQ(run.held().held(), 2u);
}

// A branch that is cut for 400 ms again and again
struct Flapping {
  explicit Flapping(std::uint64_t seed, Duration every)
      : world({.seed = seed, .branches = 2, .deadline = 600ms, .repairs = true}) {
    for (int i = 0; i < 4; ++i) world.add_member();
    world.simulation().run_for(200ms);
    for (Duration at = 500ms; at < k_time; at += every) set_down(at, true);
    for (Duration at = 900ms; at < k_time; at += every) set_down(at, false);
    for (Duration at{}; at < k_time; at += 10ms) {
      world.simulation().after(at, [this] { count_changes(); });
    }
  }
  void set_down(Duration at, bool down) {
    world.simulation().after(at, [this, down] {
      world.branch(1).there.change({.down = down, .delay = 3ms}, world.simulation().now());
    });
  }
  void count_changes() {
    const std::size_t receiving = world.source().source().served().by_group;
    if (receiving < last) changes += last - receiving;
    last = receiving;
  }

  static constexpr Duration k_time = 60s;
  ChannelWorld world;
  std::size_t last = 0;
  std::size_t changes = 0;  // receivers that stopped to rely on the group
};

TEST(HeldNetwork, FlappingBranchIsHeldDown) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    Flapping run(seed, 1500ms);
    const Time start = run.world.simulation().now();
    run.world.publish_for(Flapping::k_time, k_held_frame);
    run.world.simulation().run_for(700ms);
    // Each of two receivers lost the group 40 times.
    EXPECT_GE(run.world.source().source().held().hold_downs(), 8u);
    EXPECT_LE(run.changes, 24u);
    for (const auto& member : run.world.members()) {
      EXPECT_EQ(run.world.late_frames(*member, start), 0u) << member->name;
    }
  }
}

TEST(HeldNetwork, AFewCutsInAMinuteHoldNobodyDown) {
  Flapping run(1, 21s);
  run.world.publish_for(Flapping::k_time, k_held_frame);
  EXPECT_EQ(run.changes, 6u);
  EXPECT_EQ(run.world.source().source().held().hold_downs(), 0u);
}

}  // namespace
}  // namespace sheaf::quic
