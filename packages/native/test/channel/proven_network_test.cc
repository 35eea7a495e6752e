#include <gtest/gtest.h>

#include "channel/world.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_proven_seeds = 50;
constexpr std::size_t k_proven_frame = 2000;

using Settings = ChannelWorld::Settings;

// Every member has every frame in time, and none with other bytes.
void expect_all_genuine(const ChannelWorld& world, Time since) {
  for (const auto& member : world.members()) {
    EXPECT_EQ(world.late_frames(*member, since), 0u) << member->name;
    EXPECT_FALSE(member->wrong_bytes) << member->name;
    EXPECT_EQ(member->host->receiver().counts().expired, 0u) << member->name;
    EXPECT_EQ(member->host->receiver().counts().malformed, 0u) << member->name;
  }
}

// Publishes for twice this time. The group brings everything with its proofs, and nobody needs a
// copy in the second half.
void expect_the_group_to_bring_all(ChannelWorld& world, Duration half, std::size_t frame) {
  const Time start = world.simulation().now();
  world.publish_for(half, frame);
  const std::uint64_t copied = world.source().source().counts().copies;
  world.publish_for(half, frame);
  world.simulation().run_for(500ms);
  expect_all_genuine(world, start);
  EXPECT_EQ(world.source().source().counts().copies, copied);
  for (const auto& member : world.members()) {
    const ReceiverCounts& counts = member->host->receiver().counts();
    EXPECT_EQ(member->host->receiver().state(), ListenState::kReceiving);
    EXPECT_EQ(counts.lost + counts.forged + counts.pauses, 0u) << member->name;
    // A third for what came before the group was heard
    EXPECT_GT(counts.from_group, to_seconds(half) * 30 * static_cast<double>(frame) / 1350 * 4 / 3);
  }
}

TEST(ProvenNetwork, SignedChannelBringsEverythingWithoutLoss) {
  ChannelWorld world({.scheme = AuthenticationScheme::kSigned});
  for (int i = 0; i < 4; ++i) world.add_member();
  world.simulation().run_for(200ms);
  expect_the_group_to_bring_all(world, 3s, k_proven_frame);
}

// So the forger of the next test does what it can.
TEST(ProvenNetwork, ForgersSucceedWhereNothingIsProven) {
  ChannelWorld world({.seed = 4});
  const auto& member = world.add_member();
  world.simulation().run_for(200ms);
  world.add_forger();
  world.publish_for(1s, k_proven_frame);
  EXPECT_TRUE(member.wrong_bytes);
}

TEST(ProvenNetwork, SignedChannelSurvivesLossAForgerAndKeysThatChange) {
  for (std::uint64_t seed = 1; seed <= k_proven_seeds; ++seed) {
    ChannelWorld world({.seed = seed,
                        .leaf_loss = 0.05,
                        .unicast_loss = 0.02,
                        .key_interval = 600ms,
                        .scheme = AuthenticationScheme::kSigned});
    for (int i = 0; i < 3; ++i) world.add_member();
    world.simulation().run_for(200ms);
    const ForgerHost& forger = world.add_forger();
    const Time start = world.simulation().now();
    world.publish_for(2s, 2 * k_proven_frame);
    const Time joined = world.simulation().now();
    const std::uint64_t newest = world.frames() - 1;
    const auto& late = world.add_member();
    world.publish_for(1s, 2 * k_proven_frame);
    world.simulation().run_for(500ms);
    EXPECT_TRUE(world.has_frame(late, newest));
    for (const auto& member : world.members()) {
      EXPECT_FALSE(member->wrong_bytes) << member->name;
      EXPECT_EQ(member->host->receiver().counts().expired, 0u) << member->name;
      EXPECT_GT(member->host->receiver().counts().from_group, 100u) << member->name;
      const Time since = member.get() == &late ? joined : start;
      EXPECT_EQ(world.late_frames(*member, since), 0u) << member->name;
    }
    EXPECT_GT(forger.sent(), 300u);
    EXPECT_GE(world.key_sequence(), 3u);
  }
}

// What repairs bring needs the same proofs. A whole flight is missing when both copies of its proof
// are lost. At the end of a stream this shows with the next PING and its proof, and takes longest.
TEST(ProvenNetwork, SignedChannelIsRepaired) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ChannelWorld world({.seed = seed,
                        .leaf_loss = 0.05,
                        .unicast_loss = 0.02,
                        .key_interval = 600ms,
                        .deadline = 700ms,
                        .scheme = AuthenticationScheme::kSigned,
                        .repairs = true});
    for (int i = 0; i < 4; ++i) world.add_member();
    world.simulation().run_for(200ms);
    const Time start = world.simulation().now();
    if (seed % 2 == 0) world.add_forger();
    world.publish_for(1500ms, 2 * k_proven_frame);
    world.simulation().run_for(500ms);
    std::uint64_t recovered = 0;
    for (const auto& member : world.members()) {
      recovered += member->host->receiver().counts().recovered;
      EXPECT_EQ(world.late_frames(*member, start), 0u) << member->name;
      EXPECT_FALSE(member->wrong_bytes) << member->name;
    }
    EXPECT_GT(recovered, 0u);
  }
}

// Many packets wait for their proof when the tree is cut, whatever the time until it is back.
TEST(ProvenNetwork, ATreeThatComesBackIsHeardAtOnce) {
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    ChannelWorld world({.seed = seed,
                        .key_interval = 10s,
                        .deadline = 2s,
                        .scheme = AuthenticationScheme::kSigned,
                        .report_interval = 200ms,
                        .unicast_delay = 20ms});
    const auto& member = world.add_member();
    Simulation& simulation = world.simulation();
    world.publish_for(300ms + 1ms * static_cast<int>(seed % 33), 16'000);
    const Time start = simulation.now();
    member.leaf->there.change({.down = true}, start);
    world.publish_for(1940ms + 12ms * static_cast<int>(seed), 16'000);
    EXPECT_EQ(member.host->receiver().state(), ListenState::kUnicast);
    member.leaf->there.change(world.leaf_link(), simulation.now());
    world.publish_for(300ms, 16'000);
    EXPECT_EQ(member.host->receiver().state(), ListenState::kReceiving);
    const std::uint64_t from_unicast = member.host->receiver().counts().from_unicast;
    const std::uint64_t from_group = member.host->receiver().counts().from_group;
    world.publish_for(300ms, 16'000);
    EXPECT_EQ(member.host->receiver().counts().from_unicast, from_unicast);
    EXPECT_GT(member.host->receiver().counts().from_group, from_group + 100);
    EXPECT_EQ(member.host->receiver().counts().pauses, 0u);
    simulation.run_for(300ms);
    EXPECT_EQ(world.late_frames(member, start), 0u);
  }
}

// Copies of an edge prove nothing, so that they need the proofs as well.
TEST(ProvenNetwork, SignedCopiesOfAnEdgeAreProvenByTheirFlights) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ChannelWorld world({.seed = seed,
                        .leaf_loss = 0.05,
                        .unicast_loss = 0.02,
                        .scheme = AuthenticationScheme::kSigned,
                        .copies = ChannelWay::kUnicast});
    for (int i = 0; i < 2; ++i) world.add_member();
    world.simulation().run_for(200ms);
    const Time start = world.simulation().now();
    world.publish_for(1s, k_proven_frame);
    const Time joined = world.simulation().now();
    const auto& late = world.add_member();
    world.publish_for(1s, k_proven_frame);
    world.simulation().run_for(500ms);
    for (const auto& member : world.members()) {
      const Time since = member.get() == &late ? joined : start;
      EXPECT_EQ(world.late_frames(*member, since), 0u) << member->name;
      EXPECT_FALSE(member->wrong_bytes) << member->name;
    }
  }
}

// The forger has heard each key that was disclosed, so that its tags are right.
TEST(ProvenNetwork, TimedChannelSurvivesLossAForgerAndKeysThatChange) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ChannelWorld world({.seed = seed,
                        .leaf_loss = 0.05,
                        .unicast_loss = 0.02,
                        .key_interval = 600ms,
                        .deadline = 500ms,
                        .scheme = AuthenticationScheme::kTimed,
                        .skew = {.ahead = 1h * static_cast<int>(seed - 1),
                                 .drift_per_million = seed % 2 == 0 ? 900 : -900}});
    for (int i = 0; i < 3; ++i) world.add_member();
    world.simulation().run_for(200ms);
    const Time start = world.simulation().now();
    world.add_forger();
    world.publish_for(1500ms, 2 * k_proven_frame);
    const Time joined = world.simulation().now();
    const auto& late = world.add_member();
    world.publish_for(1s, 2 * k_proven_frame);
    world.simulation().run_for(500ms);
    for (const auto& member : world.members()) {
      const Time since = member.get() == &late ? joined : start;
      EXPECT_EQ(world.late_frames(*member, since), 0u) << member->name;
      EXPECT_FALSE(member->wrong_bytes) << member->name;
      EXPECT_GT(member->host->receiver().counts().from_group, 50u) << member->name;
      EXPECT_GT(member->host->receiver().counts().refused, 50u) << member->name;
    }
  }
}

// So the forger of the test above does what it can: it needs a source that says less than its clock
// shows.
TEST(ProvenNetwork, ForgersWithDisclosedKeysSucceedWhereTheClockIsNotBounded) {
  ChannelWorld world({.seed = 4,
                      .scheme = AuthenticationScheme::kTimed,
                      .skew = {.ahead = 1h, .told_late = 100ms}});
  const auto& member = world.add_member();
  world.simulation().run_for(200ms);
  world.add_forger();
  world.publish_for(1s, k_proven_frame);
  EXPECT_TRUE(member.wrong_bytes);
}

// A timed channel of 200 Mbit/s, with the report interval that a gateway chooses
Settings fast_timed_channel() {
  Settings settings{.seed = 12,
                    .branches = 1,
                    .max_rate = 25'000'000,
                    .deadline = 2s,
                    .scheme = AuthenticationScheme::kTimed,
                    .reach = 16'384,
                    .report_interval = 27ms,
                    .copy_rate = 250'000'000};
  ChannelOffer offer = example_offer();
  offer.max_rate = settings.max_rate;
  offer.reach = settings.reach;
  settings.schedule = choose_timed_schedule(settings.deadline, offer.log_time(), Time{});
  return settings;
}

// Packets of a fifth of a second and more wait for their keys all the time.
TEST(ProvenNetwork, AFastTimedChannelBringsEverythingByItsGroup) {
  ChannelWorld world(fast_timed_channel());
  for (int i = 0; i < 2; ++i) world.add_member();
  world.simulation().run_for(200ms);
  expect_the_group_to_bring_all(world, 600ms, 780'000);  // 95 % of the rate
}

// A loss shows when later packets are proven, and the log still has what was lost.
TEST(ProvenNetwork, AFastTimedChannelIsCopiedWhatItLoses) {
  Settings settings = fast_timed_channel();
  settings.leaf_loss = 0.002;
  ChannelWorld world(settings);
  world.add_member();
  world.simulation().run_for(200ms);
  const Time start = world.simulation().now();
  world.publish_for(800ms, 700'000);
  world.simulation().run_for(800ms);
  expect_all_genuine(world, start);
  EXPECT_GT(world.members()[0]->host->receiver().counts().lost, 10u);
  EXPECT_EQ(world.members()[0]->host->receiver().state(), ListenState::kReceiving);
}

// A member of a timed channel, whose clock is then wrong by ten seconds
struct MemberWithAWrongClock {
  MemberWithAWrongClock() {
    world.simulation().run_for(12s);  // no clock shows a time before its start
    world.publish_for(1s, k_proven_frame);
    EXPECT_EQ(receiver().state(), ListenState::kReceiving);
  }
  // Publishes until the member hears the group, and a second longer. Nothing is late then.
  void expect_the_group_is_heard_within(Duration time) {
    for (const Time end = world.simulation().now() + time; world.simulation().now() < end;) {
      world.publish_for(100ms, k_proven_frame);
    }
    EXPECT_EQ(receiver().state(), ListenState::kReceiving);
    const Time since = world.simulation().now();
    const std::uint64_t from_group = receiver().counts().from_group;
    world.publish_for(1s, k_proven_frame);
    world.simulation().run_for(500ms);
    EXPECT_GT(receiver().counts().from_group, from_group + 50);
    EXPECT_EQ(world.late_frames(member, since), 0u);
    EXPECT_FALSE(member.wrong_bytes);
  }
  const ChannelReceiver& receiver() const { return member.host->receiver(); }

  ChannelWorld world{{.seed = 11,
                      .deadline = 500ms,
                      .scheme = AuthenticationScheme::kTimed,
                      .skew = {.ahead = 1h}}};
  ChannelWorld::Member& member = world.add_member();
};

// The bound says that the source's clock stood still as well, so that packets seem to be of the
// future. The next response, ten seconds later at most, shows that it is wrong.
TEST(ProvenNetwork, AMemberOfATimedChannelThatWasHaltedHearsItsGroupAgain) {
  MemberWithAWrongClock wrong;
  wrong.member.clock->halt();
  wrong.world.simulation().run_for(10s);
  wrong.member.clock->resume(10s);
  wrong.expect_the_group_is_heard_within(11s);
}

// A clock that shows a time before the last query is found out at once.
TEST(ProvenNetwork, AMemberOfATimedChannelWhoseClockJumpsBackHearsItsGroupAgain) {
  MemberWithAWrongClock wrong;
  wrong.member.clock->jump_back(10s);
  wrong.expect_the_group_is_heard_within(300ms);
}

// Chains of keys follow one another.
TEST(ProvenNetwork, TimedChannelGoesOnInTheNextChain) {
  ChannelWorld world(
      {.seed = 9, .leaf_loss = 0.05, .deadline = 500ms, .scheme = AuthenticationScheme::kTimed});
  world.simulation().run_for(30ms * k_chain_length - 12s);
  for (int i = 0; i < 2; ++i) world.add_member();
  world.simulation().run_for(11s);  // the second response is about the next chain, too
  const Time start = world.simulation().now();
  const std::uint64_t copied = world.source().source().counts().copies;
  world.publish_for(3s, k_proven_frame);
  world.simulation().run_for(500ms);
  for (const auto& member : world.members()) {
    EXPECT_EQ(world.late_frames(*member, start), 0u) << member->name;
    EXPECT_EQ(member->host->receiver().counts().forged, 0u) << member->name;
    EXPECT_EQ(member->host->receiver().state(), ListenState::kReceiving) << member->name;
  }
  EXPECT_LT(world.source().source().counts().copies - copied, 50u);
}

}  // namespace
}  // namespace sheaf::quic
