#include <gtest/gtest.h>

#include "multi_end/backends.h"
#include "multipath/world.h"

namespace sheaf::quic {
namespace {

const LinkConfig k_link{.queue_bytes = 100_kib, .rate = 20_mbps, .delay = 20ms};

TEST(Paths, AreNegotiated) {
  World world({.links = {k_link}});
  ASSERT_TRUE(world.run_until_confirmed());
  EXPECT_TRUE(world.client().paths().enabled());
  EXPECT_TRUE(world.server().paths().enabled());
}

TEST(Paths, FallBackToOneWhenOneSideDoesNotOfferThem) {
  for (const bool client_offers : {false, true}) {
    World::Options options{.links = {k_link, k_link}};
    options.client.multipath = client_offers;
    options.server.multipath = !client_offers;
    World world(options);
    ASSERT_TRUE(world.run_until_confirmed());
    EXPECT_FALSE(world.client().paths().enabled());
    const auto refused = world.client().paths().open(World::addresses(1), world.now());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), PathRefusal::kNotNegotiated);
    world.start(Role::kServer, 1'000'000);
    EXPECT_TRUE(world.run_until_transferred());
  }
}

TEST(Paths, AreOpenedAndValidatedByBothSides) {
  World world({.links = {k_link, k_link}});
  ASSERT_TRUE(world.run_until_confirmed());
  const auto id = world.open_path(1);
  ASSERT_TRUE(id);
  EXPECT_EQ(id->value, 1u);
  EXPECT_EQ(world.count<PathOpenedEvent>(Role::kServer), 1);
  const auto stats = world.stats(Role::kServer, *id);
  ASSERT_TRUE(stats);
  EXPECT_TRUE(stats->validated);
  EXPECT_EQ(stats->addresses.remote, World::addresses(1).local);
}

TEST(Paths, AggregateTheirRates) {
  for (const Role sender : {Role::kClient, Role::kServer}) {
    World world({.links = {k_link, k_link}});
    ASSERT_TRUE(world.run_until_confirmed());
    ASSERT_TRUE(world.open_path(1));
    world.start(sender, 30'000'000);
    ASSERT_TRUE(world.run_until_transferred());
    EXPECT_GT(world.transfer->goodput(world.now()), 0.9 * 40_mbps);
  }
}

TEST(Paths, AggregateTheirRatesWhereOneIsTenTimesSlower) {
  LinkConfig slow = k_link;
  slow.delay = 10 * k_link.delay;
  slow.queue_bytes = 10 * k_link.queue_bytes;
  World world({.links = {k_link, slow}});
  ASSERT_TRUE(world.run_until_confirmed());
  ASSERT_TRUE(world.open_path(1));
  world.start(Role::kServer, std::uint64_t{1} << 40);
  world.run_for(std::chrono::seconds(5));
  // Slow start on the slow path has ended.
  const std::uint64_t before = world.transfer->received();
  world.run_for(std::chrono::seconds(10));
  EXPECT_GT(world.transfer->received() - before, 0.9 * 40_mbps * 10);
}

TEST(Paths, ADeadPathDoesNotStopATransfer) {
  World world({.links = {k_link, k_link}});
  ASSERT_TRUE(world.run_until_confirmed());
  ASSERT_TRUE(world.open_path(1));
  world.start(Role::kServer, 20'000'000);
  world.run_for(1s);
  world.transfer->watch_stalls(world.now());
  world.set_down(1, true);
  world.run_for(2s);
  EXPECT_LT(world.transfer->longest_stall(), 500ms);
  world.set_down(1, false);
  ASSERT_TRUE(world.run_until_transferred());
  // The path is used again.
  EXPECT_EQ(world.stats(Role::kServer, PathId{1})->state, PathState::kActive);
  EXPECT_GT(world.transfer->goodput(world.now()), 0.6 * 40_mbps);
}

TEST(Paths, AreAbandonedByEitherSide) {
  for (const Role role : {Role::kClient, Role::kServer}) {
    World world({.links = {k_link, k_link}});
    ASSERT_TRUE(world.run_until_confirmed());
    const auto id = world.open_path(1);
    ASSERT_TRUE(id);
    world.start(Role::kServer, 10'000'000);
    world.run_for(500ms);
    ASSERT_TRUE(world.pair->host(role).connection.paths().abandon(*id, 0x3e, world.now()));
    ASSERT_TRUE(world.run_until_transferred());
    EXPECT_EQ(world.count<PathAbandonedEvent>(Role::kClient), 1);
    EXPECT_EQ(world.count<PathAbandonedEvent>(Role::kServer), 1);
    world.run_for(5s);
    EXPECT_FALSE(world.stats(Role::kClient, *id));
    EXPECT_FALSE(world.stats(Role::kServer, *id));
  }
}

TEST(Paths, TheFirstPathCanBeAbandoned) {
  World world({.links = {k_link, k_link}});
  ASSERT_TRUE(world.run_until_confirmed());
  ASSERT_TRUE(world.open_path(1));
  ASSERT_TRUE(world.client().paths().abandon(PathId{0}, 0, world.now()));
  world.set_down(0, true);
  world.start(Role::kServer, 5'000'000);
  ASSERT_TRUE(world.run_until_transferred());
  world.run_for(5s);
  EXPECT_FALSE(world.stats(Role::kServer, PathId{0}));
  EXPECT_TRUE(world.ends.empty());
}

TEST(Paths, IdsAreNeverUsedAgainAndTheLimitGrows) {
  World world({.links = std::vector<LinkConfig>(30, k_link)});
  ASSERT_TRUE(world.run_until_confirmed());
  for (std::uint32_t i = 1; i < 30; ++i) {
    const auto id = world.open_path(i);
    ASSERT_TRUE(id) << i;
    EXPECT_EQ(id->value, i);
    ASSERT_TRUE(world.client().paths().abandon(*id, 0x3e, world.now()));
    world.run_for(3s);
  }
  EXPECT_TRUE(world.ends.empty());
}

TEST(Paths, TheApplicationHearsThatAnotherCanBeOpened) {
  World world({.links = std::vector<LinkConfig>(9, k_link)});
  ASSERT_TRUE(world.run_until_confirmed());
  for (std::uint32_t i = 1; i < 8; ++i) ASSERT_TRUE(world.open_path(i)) << i;
  const auto refused = world.client().paths().open(World::addresses(8), world.now());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), PathRefusal::kPathLimit);
  world.run_for(3s);
  const int before = world.count<PathsAvailableEvent>(Role::kClient);
  ASSERT_TRUE(world.client().paths().abandon(PathId{3}, 0x3e, world.now()));
  world.run_for(3s);
  EXPECT_EQ(world.count<PathsAvailableEvent>(Role::kClient), before + 1);
  EXPECT_TRUE(world.open_path(8));
}

TEST(Paths, TheLastCannotBeAbandoned) {
  World world({.links = {k_link}});
  ASSERT_TRUE(world.run_until_confirmed());
  const auto refused = world.client().paths().abandon(PathId{0}, 0, world.now());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), PathRefusal::kLastPath);
}

TEST(Paths, BackupPathsRestUntilTheyAreNeeded) {
  World world({.links = {k_link, k_link}});
  ASSERT_TRUE(world.run_until_confirmed());
  const auto id = world.open_path(1);
  ASSERT_TRUE(id);
  ASSERT_TRUE(world.client().paths().set_status(*id, PathStatus::kBackup, world.now()));
  ASSERT_TRUE(world.run_until([&] { return world.count<PathStatusEvent>(Role::kServer) > 0; }));
  const std::uint64_t before = world.stats(Role::kServer, *id)->bytes_sent;
  world.start(Role::kServer, 15'000'000);
  world.run_for(1s);
  EXPECT_LT(world.stats(Role::kServer, *id)->bytes_sent - before, 10'000u);
  world.set_down(0, true);
  ASSERT_TRUE(world.run_until_transferred());
  EXPECT_GT(world.stats(Role::kServer, *id)->bytes_sent - before, 5'000'000u);
}

TEST(Paths, AnUnreachableOneIsAbandoned) {
  World world({.links = {k_link, k_link}});
  ASSERT_TRUE(world.run_until_confirmed());
  world.set_down(1, true);
  const auto id = world.client().paths().open(World::addresses(1), world.now());
  ASSERT_TRUE(id);
  world.start(Role::kServer, 2'000'000);
  ASSERT_TRUE(world.run_until_transferred());
  ASSERT_TRUE(world.run_until([&] { return world.count<PathAbandonedEvent>(Role::kClient) > 0; }));
  EXPECT_TRUE(world.ends.empty());
}

TEST(Paths, KeysAreUpdatedOnAllOfThem) {
  for (const KeyMode mode : {KeyMode::kShared, KeyMode::kPerPath}) {
    World::Options options{.links = {k_link, k_link}};
    offer_multi_end(options.client, static_cast<std::uint64_t>(mode));
    offer_multi_end(options.server, static_cast<std::uint64_t>(mode));
    World world(options);
    ASSERT_TRUE(world.run_until_confirmed());
    ASSERT_TRUE(world.open_path(1));
    world.start(Role::kServer, 10'000'000);
    world.run_for(300ms);
    EXPECT_TRUE(world.client().initiate_key_update(world.now()));
    ASSERT_TRUE(world.run_until_transferred());
    // With keys per path, each path's keys are updated.
    const std::uint64_t expected = mode == KeyMode::kShared ? 1 : 2;
    EXPECT_EQ(world.client().stats().key_updates, expected);
    EXPECT_EQ(world.server().stats().key_updates, expected);
  }
}

TEST(Paths, ARedundantSchedulerSendsEverythingTwice) {
  World::Options options{.links = {k_link, k_link}};
  options.server.path_scheduler = PathSchedulerKind::kRedundant;
  World world(options);
  ASSERT_TRUE(world.run_until_confirmed());
  ASSERT_TRUE(world.open_path(1));
  world.start(Role::kServer, 3'000'000);
  world.run_for(500ms);
  // The application does not even notice a path that goes down.
  world.transfer->watch_stalls(world.now());
  world.set_down(0, true);
  ASSERT_TRUE(world.run_until_transferred());
  EXPECT_LT(world.transfer->longest_stall(), 100ms);
  const std::uint64_t on_second = world.stats(Role::kServer, PathId{1})->bytes_sent;
  EXPECT_GT(on_second, 2'900'000u);
  // Copies are not copied again.
  EXPECT_LT(on_second, 4'500'000u);
}

TEST(Paths, APinnedStreamStaysOnItsPath) {
  World world({.links = {k_link, k_link}});
  ASSERT_TRUE(world.run_until_confirmed());
  const auto id = world.open_path(1);
  ASSERT_TRUE(id);
  const auto stream = world.server().streams().writer().open(Directionality::kUnidirectional);
  ASSERT_TRUE(stream);
  ASSERT_TRUE(world.server().paths().pin(*stream, *id));
  const auto sent = [&](PathId path) { return world.stats(Role::kServer, path)->bytes_sent; };
  const std::uint64_t before = sent(PathId{0});
  constexpr std::size_t k_bytes = 1'000'000;
  ASSERT_TRUE(world.server().streams().writer().write(
      *stream, SendChunk::copy_of(std::vector<std::uint8_t>(k_bytes, 7)), true));
  world.run_for(200ms);
  // The path is down for a while; its data waits, although another path works.
  world.set_down(1, true);
  world.run_for(500ms);
  world.set_down(1, false);
  std::size_t received = 0;
  ASSERT_TRUE(world.run_until([&] {
    std::vector<std::uint8_t> bytes(64 << 10);
    const auto part = world.client().streams().reader().read(*stream, bytes, world.now());
    if (part) received += part->bytes;
    return received == k_bytes;
  }));
  // Only acknowledgements, pings and challenges.
  EXPECT_LT(sent(PathId{0}) - before, 20'000u);
  EXPECT_GT(sent(*id), k_bytes);
}

TEST(Paths, APinnedStreamAndTheOthersShareAPath) {
  World world({.links = {k_link}});
  ASSERT_TRUE(world.run_until_confirmed());
  std::vector<StreamId> streams;
  for (int i = 0; i < 2; ++i) {
    streams.push_back(*world.server().streams().writer().open(Directionality::kUnidirectional));
    ASSERT_TRUE(world.server().streams().writer().write(
        streams.back(), SendChunk::copy_of(std::vector<std::uint8_t>(4'000'000, 7)), true));
  }
  ASSERT_TRUE(world.server().paths().pin(streams[1], PathId{0}));
  world.run_for(1s);
  const std::uint64_t rest = world.server().streams().writer().unsent_bytes(streams[0]);
  const std::uint64_t pinned_rest = world.server().streams().writer().unsent_bytes(streams[1]);
  EXPECT_LT(rest, 3'900'000u);
  EXPECT_NEAR(static_cast<double>(rest), static_cast<double>(pinned_rest), 50'000);
}

TEST(Paths, StreamsOfAnAbandonedPathGoElsewhere) {
  World world({.links = {k_link, k_link}});
  ASSERT_TRUE(world.run_until_confirmed());
  const auto id = world.open_path(1);
  ASSERT_TRUE(id);
  const auto stream = world.server().streams().writer().open(Directionality::kUnidirectional);
  ASSERT_TRUE(world.server().paths().pin(*stream, *id));
  ASSERT_TRUE(world.server().streams().writer().write(
      *stream, SendChunk::copy_of(std::vector<std::uint8_t>(900'000, 7)), true));
  world.run_for(100ms);
  ASSERT_TRUE(world.client().paths().abandon(*id, 0, world.now()));
  std::size_t received = 0;
  ASSERT_TRUE(world.run_until([&] {
    std::vector<std::uint8_t> bytes(64 << 10);
    const auto part = world.client().streams().reader().read(*stream, bytes, world.now());
    if (part) received += part->bytes;
    return received == 900'000;
  }));
  EXPECT_FALSE(world.server().paths().pin(*stream, *id));
}

TEST(Paths, TheEndOfAStreamDoesNotWaitForTheSlowPath) {
  LinkConfig slow = k_link;
  slow.delay = 300ms;
  World::Options options{.links = {k_link, slow}};
  // It fills both paths until the end.
  options.server.path_scheduler = PathSchedulerKind::kMinRtt;
  World world(options);
  ASSERT_TRUE(world.run_until_confirmed());
  ASSERT_TRUE(world.open_path(1));
  world.start(Role::kServer, 2'000'000);
  ASSERT_TRUE(world.run_until_transferred());
  const Duration both = world.transfer->last_progress() - world.transfer->started();
  World alone({.links = {k_link}});
  ASSERT_TRUE(alone.run_until_confirmed());
  alone.start(Role::kServer, 2'000'000);
  ASSERT_TRUE(alone.run_until_transferred());
  EXPECT_LT(both, alone.transfer->last_progress() - alone.transfer->started() + 60ms);
}

// Packets arrive for a path that is gone while the other path may not send yet: nobody wakes up in
// vain.
TEST(Paths, AnAcknowledgementThatCannotLeaveWakesNobody) {
  World world({.links = {k_link, k_link}});
  ASSERT_TRUE(world.run_until_confirmed());
  world.start(Role::kClient, 5'000'000);
  world.run_for(300ms);
  // The server never receives the response to its challenge.
  LinkConfig silent = k_link;
  silent.down = true;
  world.links[1]->back.change_at(world.now(), silent);
  ASSERT_TRUE(world.client().paths().open(World::addresses(1), world.now()));
  world.run_for(10ms);
  ASSERT_TRUE(world.server().paths().abandon(PathId{0}, 0x3e, world.now()) ||
              world.client().paths().abandon(PathId{0}, 0x3e, world.now()));
  // A livelock would stop the clock.
  const Time before = world.now();
  world.run_for(20s);
  EXPECT_EQ(world.now(), before + 20s);
  EXPECT_LT(world.simulation.events(), 200'000u);
}

TEST(Paths, AFastBackupPathIsNoReasonToRepeat) {
  LinkConfig fast = k_link;
  fast.delay = 2ms;
  World world({.links = {k_link, fast}});
  ASSERT_TRUE(world.run_until_confirmed());
  const auto id = world.open_path(1);
  ASSERT_TRUE(id);
  ASSERT_TRUE(world.client().paths().set_status(*id, PathStatus::kBackup, world.now()));
  world.run_for(200ms);
  const std::uint64_t before = world.stats(Role::kServer, PathId{0})->bytes_sent;
  world.start(Role::kServer, 200'000);
  ASSERT_TRUE(world.run_until_transferred());
  world.run_for(1s);
  EXPECT_LT(world.stats(Role::kServer, PathId{0})->bytes_sent - before, 225'000u);
}

TEST(Paths, EqualSeedsGiveEqualBytes) {
  const auto run = [] {
    LinkConfig lossy = k_link;
    lossy.loss = 0.01;
    World world({.seed = 42, .links = {lossy, k_link}});
    EXPECT_TRUE(world.run_until_confirmed());
    EXPECT_TRUE(world.open_path(1));
    world.start(Role::kServer, 3'000'000);
    EXPECT_TRUE(world.run_until_transferred());
    return world.simulation.digest();
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace sheaf::quic
