#include "channel/group_breaker.h"

#include <gtest/gtest.h>

#include "channel/world.h"

namespace sheaf::quic {
namespace {

constexpr Duration k_look = 10ms;

// A breaker that is asked every 10 ms
struct AskedBreaker {
  // Returns for how long of a time it allowed packets.
  Duration run_for(Duration time) {
    Duration allowed{};
    for (const Time end = now + time; now < end; now += k_look) {
      if (breaker.allows(now)) allowed += k_look;
    }
    return allowed;
  }
  void change(ListenState before, ListenState state) { breaker.on_state(before, state, now); }
  void join() { change(ListenState::kWant, ListenState::kJoined); }

  GroupBreaker breaker{100ms};
  Time now{1h};
};

TEST(GroupBreaker, AllowsNothingWhileNobodyIsInTheGroup) {
  AskedBreaker asked;
  EXPECT_EQ(asked.run_for(1min), Duration{});
  asked.join();
  EXPECT_EQ(asked.run_for(1s), 1s);
  asked.change(ListenState::kJoined, ListenState::kLeft);
  EXPECT_EQ(asked.run_for(1min), Duration{});
  EXPECT_EQ(asked.breaker.pauses(), 0u);
}

TEST(GroupBreaker, PausesForTwiceAsLongEachTimeWhileNobodyHears) {
  AskedBreaker asked;
  asked.join();
  EXPECT_EQ(asked.run_for(3s), 3s);
  for (const Duration wait : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
    EXPECT_EQ(asked.run_for(wait), Duration{});
    EXPECT_EQ(asked.run_for(1s), 1s);
  }
  EXPECT_EQ(asked.breaker.pauses(), 7u);
}

TEST(GroupBreaker, GoesOnAsSoonAsOneHears) {
  AskedBreaker asked;
  asked.join();
  asked.join();
  asked.run_for(3500ms);
  asked.change(ListenState::kJoined, ListenState::kReceiving);
  EXPECT_EQ(asked.run_for(2min), 2min);
  // A calm time later, silence is as new.
  asked.change(ListenState::kReceiving, ListenState::kUnicast);
  EXPECT_EQ(asked.run_for(4s), 3s);
  EXPECT_EQ(asked.run_for(1s), 1s);
}

TEST(GroupBreaker, ForgetsWhoIsRemoved) {
  AskedBreaker asked;
  asked.join();
  asked.join();
  asked.change(ListenState::kJoined, ListenState::kReceiving);
  asked.breaker.on_removed(ListenState::kReceiving);
  EXPECT_EQ(asked.run_for(4s), 3s);
  asked.breaker.on_removed(ListenState::kJoined);
  EXPECT_EQ(asked.run_for(1min), Duration{});
}

TEST(GroupBreaker, TriesSoonerForANewMemberAndNotAtOnce) {
  AskedBreaker asked;
  asked.join();
  while (asked.breaker.pauses() < 5) asked.run_for(k_look);
  // A wait of 16 s has begun.
  asked.run_for(2s);
  asked.join();
  EXPECT_LE(asked.run_for(2900ms), Duration{});
  EXPECT_GE(asked.run_for(1200ms), 900ms);
  // Neither coming alone nor what members say of copies is new.
  asked.change(ListenState::kJoined, ListenState::kUnicast);
  EXPECT_EQ(asked.run_for(4s), Duration{});
}

TEST(GroupBreaker, TriesAtOnceForTheOnlyMember) {
  AskedBreaker asked;
  asked.join();
  while (asked.breaker.pauses() < 5) asked.run_for(k_look);
  asked.breaker.on_removed(ListenState::kJoined);
  asked.join();
  EXPECT_EQ(asked.run_for(1s), 1s);
}

// --- in a network
// ---------------------------------------------------------------------------------

constexpr std::uint64_t k_breaker_seeds = 4;
constexpr std::size_t k_breaker_frame = 1000;  // bytes every 33 ms

// Four members on two branches
struct Breaking {
  explicit Breaking(std::uint64_t seed)
      : world({.seed = seed,
               .branches = 2,
               .leaf_loss = 0.01,
               .unicast_loss = 0.01,
               .deadline = 700ms,
               .scheme = AuthenticationScheme::kSigned,
               .repairs = true}) {
    for (int i = 0; i < 4; ++i) world.add_member();
    world.simulation().run_for(200ms);
    start = world.simulation().now();
    publish_for(2s);
  }
  void publish_for(Duration time) { world.publish_for(time, k_breaker_frame); }
  void set_down(std::size_t branch, bool down) {
    world.branch(branch).there.change({.down = down, .delay = 3ms}, world.simulation().now());
  }
  // Returns the bytes to the group in a time.
  std::uint64_t fed_in(Duration time) {
    const std::uint64_t before = world.source().group_bytes();
    publish_for(time);
    return world.source().group_bytes() - before;
  }
  std::size_t hearing() { return world.source().source().served().by_group; }
  std::uint64_t pauses() { return world.source().source().counts().group_pauses; }
  void expect_no_loss() {
    world.simulation().run_for(800ms);
    for (const auto& member : world.members()) {
      EXPECT_EQ(world.late_frames(*member, start), 0u) << member->name;
      EXPECT_FALSE(member->wrong_bytes);
    }
  }

  ChannelWorld world;
  Time start;
};

TEST(BreakerNetwork, ATreeThatNobodyHearsIsNotFedAndNobodyLosesAFrame) {
  for (std::uint64_t seed = 1; seed <= k_breaker_seeds; ++seed) {
    Breaking run(seed);
    const std::uint64_t full = run.fed_in(2s);
    ASSERT_EQ(run.hearing(), 4u);
    run.set_down(0, true);
    run.set_down(1, true);
    // Three seconds, and one after each wait of 1, 2 and 4 s
    const std::uint64_t fed = run.fed_in(13s);
    EXPECT_LT(fed, full * 7 / 2);
    EXPECT_EQ(run.hearing(), 0u);
    EXPECT_GE(run.pauses(), 3u);
    run.set_down(0, false);
    run.set_down(1, false);
    run.publish_for(9s);  // a wait of 8 s may have begun
    EXPECT_EQ(run.hearing(), 4u);
    EXPECT_GE(run.fed_in(2s) * 10, full * 9);
    run.expect_no_loss();
  }
}

TEST(BreakerNetwork, ABranchThatHearsKeepsTheTreeFed) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    Breaking run(seed);
    const std::uint64_t full = run.fed_in(2s);
    run.set_down(0, true);
    EXPECT_GE(run.fed_in(6s) * 10, full * 27);
    EXPECT_EQ(run.hearing(), 2u);
    EXPECT_EQ(run.pauses(), 0u);
    run.expect_no_loss();
  }
}

TEST(BreakerNetwork, AGroupWithoutMembersIsNotFedAndTheFirstOneHearsItAtOnce) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    ChannelWorld world({.seed = seed});
    world.publish_for(5s, k_breaker_frame);
    EXPECT_EQ(world.source().group_bytes(), 0u);
    const auto& member = world.add_member();
    world.publish_for(200ms, k_breaker_frame);
    EXPECT_EQ(member.host->receiver().state(), ListenState::kReceiving);
    world.remove_member(0);
    const std::uint64_t fed = world.source().group_bytes();
    world.publish_for(5s, k_breaker_frame);
    EXPECT_EQ(world.source().group_bytes(), fed);
  }
}

}  // namespace
}  // namespace sheaf::quic
