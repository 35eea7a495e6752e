#include <gtest/gtest.h>

#include "channel/world.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_seeds = 50;
constexpr std::size_t k_frame = 2000;  // bytes, as of the video of a conference

TEST(ChannelNetwork, GroupBringsEverythingWithoutLoss) {
  ChannelWorld world({});
  for (int i = 0; i < 6; ++i) world.add_member();
  world.simulation().run_for(200ms);
  const Time start = world.simulation().now();
  world.publish_for(3s, k_frame);
  const std::uint64_t copied = world.source().source().counts().copies;
  world.publish_for(3s, k_frame);
  world.simulation().run_for(500ms);
  for (const auto& member : world.members()) {
    EXPECT_EQ(world.late_frames(*member, start), 0u) << member->name;
    EXPECT_FALSE(member->wrong_bytes);
    EXPECT_EQ(member->host->receiver().state(), ListenState::kReceiving);
    EXPECT_EQ(member->host->receiver().counts().lost, 0u);
    EXPECT_EQ(member->host->receiver().counts().unreadable, 0u);
  }
  // The group brings everything, and nobody needs a copy.
  EXPECT_EQ(world.source().source().counts().copies, copied);
}

TEST(ChannelNetwork, LostPacketsComeBeforeTheirDeadline) {
  for (std::uint64_t seed = 1; seed <= k_seeds; ++seed) {
    ChannelWorld world({.seed = seed, .leaf_loss = 0.05, .unicast_loss = 0.02});
    for (int i = 0; i < 6; ++i) world.add_member();
    world.simulation().run_for(200ms);
    const Time start = world.simulation().now();
    world.publish_for(4s, k_frame);
    world.simulation().run_for(500ms);
    for (const auto& member : world.members()) {
      EXPECT_EQ(world.late_frames(*member, start), 0u) << member->name;
      EXPECT_FALSE(member->wrong_bytes);
      EXPECT_GT(member->host->receiver().counts().lost, 0u);
      EXPECT_EQ(member->host->receiver().counts().expired, 0u);
    }
  }
}

TEST(ChannelNetwork, WhoComesLateBeginsWithTheNewestGroupAtOnce) {
  for (std::uint64_t seed = 1; seed <= k_seeds; ++seed) {
    ChannelWorld world({.seed = seed, .leaf_loss = 0.01});
    world.add_member();
    world.publish_for(2s + 1ms * static_cast<int>(seed), k_frame);
    const std::uint64_t newest = world.frames() - 1;
    const Time joined = world.simulation().now();
    const auto& late = world.add_member();
    world.publish_for(1s, k_frame);
    world.simulation().run_for(500ms);
    ASSERT_TRUE(world.has_frame(late, newest));
    // The offer, its wish and the copies: one way each
    EXPECT_LT(late.complete.at(newest), joined + 50ms);
    EXPECT_EQ(world.late_frames(late, joined), 0u);
    EXPECT_FALSE(late.wrong_bytes);
  }
}

TEST(ChannelNetwork, UnicastBringsWhatACutTreeDoesNot) {
  for (std::uint64_t seed = 1; seed <= k_seeds; ++seed) {
    // Three silent intervals, one way to the source and one back pass before the first copy.
    ChannelWorld world({.seed = seed, .leaf_loss = 0.01, .deadline = 600ms});
    for (int i = 0; i < 6; ++i) world.add_member();
    world.simulation().run_for(200ms);
    const Time start = world.simulation().now();
    NetworkPath& cut = world.branch(1);
    world.simulation().after(2s,
                             [&] { cut.there.change({.down = true}, world.simulation().now()); });
    world.simulation().after(3500ms, [&] {
      for (const auto& member : world.members()) {
        const bool is_behind = member->leaf == world.members()[0]->leaf;
        if (!is_behind) continue;
        EXPECT_EQ(member->host->receiver().state(), ListenState::kUnicast);
      }
    });
    world.simulation().after(4s,
                             [&] { cut.there.change({.delay = 3ms}, world.simulation().now()); });
    world.publish_for(6s, k_frame);
    world.simulation().run_for(700ms);
    for (const auto& member : world.members()) {
      EXPECT_EQ(world.late_frames(*member, start), 0u) << member->name;
      EXPECT_EQ(member->host->receiver().state(), ListenState::kReceiving);
      EXPECT_FALSE(member->wrong_bytes);
    }
  }
}

TEST(ChannelNetwork, KeysChangeWithoutALoss) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    ChannelWorld world({.seed = seed, .leaf_loss = 0.02, .key_interval = 1s});
    for (int i = 0; i < 3; ++i) world.add_member();
    world.simulation().run_for(200ms);
    const Time start = world.simulation().now();
    // The key's first packet is at least 64 packets ahead, so a second has to have more than 128.
    world.publish_for(10s, 4 * k_frame);
    world.simulation().run_for(500ms);
    EXPECT_GE(world.key_sequence(), 8u);
    for (const auto& member : world.members()) {
      EXPECT_EQ(world.late_frames(*member, start), 0u);
      EXPECT_EQ(member->host->receiver().counts().forged, 0u);
      EXPECT_EQ(member->host->receiver().counts().unreadable, 0u);
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
