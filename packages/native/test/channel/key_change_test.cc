#include <gtest/gtest.h>

#include "channel/pair.h"
#include "channel/world.h"

namespace sheaf::quic {
namespace {

// 400 ms at the full rate, and the burst after a pause
constexpr PacketNumber k_notice = 32 + 500'000 / 1350;
constexpr Duration k_hold = 500ms;
constexpr std::size_t k_busy = 24'000;  // bytes in 50 ms

// A source, a receiver that stays, and others
struct KeyChange {
  struct Other {
    explicit Other(KeyChange& world)
        : receiver(world.pair.source.offer(), world.verifier, world.random, world.pair.now),
          id(*world.pair.source.add_receiver()) {}
    ChannelReceiver receiver;
    std::optional<ChannelSource::ReceiverId> id;
  };

  Other& add() {
    others.push_back(std::make_unique<Other>(*this));
    give_keys();
    return *others.back();
  }
  void give_keys() {
    pair.give_keys();
    for (const auto& other : others) {
      while (const auto key = other->id ? pair.source.poll_key(*other->id) : std::nullopt) {
        other->receiver.on_key(*key, pair.now);
      }
    }
  }
  // It keeps every key that it has.
  void leave(Other& other) {
    pair.source.remove_receiver(*std::exchange(other.id, std::nullopt));
    pair.source.on_timeout(pair.now);
    give_keys();
  }
  void send() {
    for (const auto& packet : pair.packets()) {
      pair.receiver.receive(packet, ChannelWay::kGroup, pair.now);
      for (const auto& other : others) {
        other->receiver.receive(packet, ChannelWay::kGroup, pair.now);
      }
    }
  }
  // Lets time pass in which the source publishes. Keys reach their receivers 40 ms later.
  void run_for(Duration time, std::size_t bytes) {
    for (const Time end = pair.now + time; pair.now < end; pair.now += 50ms) {
      pair.source.on_timeout(pair.now);
      if (bytes > 0) pair.source.write(*pair.source.open_group(), pattern_from(0, bytes), true);
      send();
      pair.now += 40ms;
      give_keys();
      pair.now -= 40ms;
    }
  }
  std::uint64_t sent() const { return pair.source.ring().end(); }

  ChannelPair pair;
  NoVerifier verifier;
  SeededRandom random{9};
  std::vector<std::unique_ptr<Other>> others;
};

void expect_everything(const KeyChange& world) {
  const ReceiverCounts& counts = world.pair.receiver.counts();
  EXPECT_EQ(counts.from_group, world.sent());
  EXPECT_EQ(counts.unreadable, 0u);
  EXPECT_EQ(counts.lost, 0u);
}

TEST(KeyChange, WhoLeftReadsNothingUnderTheKeyThatIsChosenThen) {
  KeyChange world;
  auto& leaver = world.add();
  world.run_for(200ms, k_busy);
  const PacketNumber last = world.sent();
  world.leave(leaver);
  EXPECT_EQ(world.pair.last_key.sequence, 1u);
  EXPECT_EQ(world.pair.last_key.first, last + k_notice);
  world.run_for(3s, k_busy);
  EXPECT_GT(world.sent(), last + 2 * k_notice);
  EXPECT_EQ(leaver.receiver.counts().from_group, last + k_notice);
  expect_everything(world);
}

// At the full rate, the first packet under the new key follows 400 ms later.
TEST(KeyChange, WhoStaysHasTheKeyInTime) {
  KeyChange world;
  auto& leaver = world.add();
  world.send();
  const StreamId group = *world.pair.source.open_group();
  world.leave(leaver);
  const Time chosen = world.pair.now;
  for (int i = 0; i < 1000 && world.sent() <= world.pair.last_key.first; ++i) {
    world.pair.source.write(group, pattern_from(0, 5000), false);
    world.send();
    world.pair.now += 1ms;
  }
  ASSERT_GT(world.sent(), world.pair.last_key.first);
  EXPECT_GE(world.pair.now, chosen + 395ms);
}

// A channel with short report intervals, whose packets are short as well
struct FastChannel {
  explicit FastChannel(std::uint64_t slowest_rate = 0)
      : source(config(slowest_rate), authenticator, random) {}

  static SourceConfig config(std::uint64_t slowest_rate) {
    SourceConfig config{.offer = ChannelPair::unsigned_offer(), .new_key_on_leaving = true};
    config.offer.max_rate = 25'000'000;
    config.offer.report_interval = 10ms;
    config.slowest_rate = slowest_rate;
    return config;
  }
  // A receiver comes and leaves.
  void visit() {
    source.remove_receiver(*source.add_receiver());
    source.on_timeout(now);
  }
  // Returns the newest key that the receiver that stays has not got yet.
  std::optional<ChannelKey> take_key() {
    std::optional<ChannelKey> newest;
    while (const auto key = source.poll_key(stays)) newest = key;
    return newest;
  }

  NoAuthenticator authenticator;
  SeededRandom random{9};
  ChannelSource source;
  ChannelSource::ReceiverId stays = *source.add_receiver();
  Time now = k_pair_start;
};

TEST(KeyChange, AFastChannelChangesKeysNoFasterThanWaysBringThem) {
  FastChannel fast;
  fast.take_key();
  fast.visit();
  const auto chosen = fast.take_key();
  ASSERT_TRUE(chosen);
  EXPECT_GE(chosen->first, 10'000'000u / 1350) << "400 ms at the full rate";
  const Time begun = fast.now;
  while (fast.source.ring().end() <= chosen->first) {
    for (int i = 0; i < 50; ++i) {
      fast.source.write(*fast.source.open_group(), pattern_from(0, 10), true);
    }
    fast.now += 1ms;
    while (!fast.source.poll_transmit(48, fast.now).empty()) {
    }
  }
  ASSERT_LT(fast.now, begun + 300ms);
  fast.visit();
  EXPECT_FALSE(fast.take_key());
  fast.now = begun + 399ms;
  fast.source.on_timeout(fast.now);
  EXPECT_FALSE(fast.take_key());
  fast.now = begun + 400ms;
  fast.source.on_timeout(fast.now);
  EXPECT_TRUE(fast.take_key());
}

// 400 ms at twice the present rate, and the burst after a pause
TEST(KeyChange, ASlowChannelChangesKeysAsSoon) {
  FastChannel channel(100'000);
  channel.source.on_state(channel.stays, {.state = ListenState::kReceiving}, channel.now);
  ASSERT_EQ(channel.source.counts().rate, 100'000u);
  channel.take_key();
  channel.visit();
  const auto chosen = channel.take_key();
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->first, 32u + 80'000 / 1350);
}

TEST(KeyChange, AKeyThatWhoLeftHasAheadIsNeverUsed) {
  KeyChange world;
  auto& leaver = world.add();
  while (world.pair.last_key.sequence == 0) world.run_for(50ms, k_busy);
  const ChannelKey ahead = world.pair.last_key;
  const PacketNumber last = world.sent();
  ASSERT_GT(ahead.first, last + k_notice);
  world.leave(leaver);
  EXPECT_EQ(world.pair.last_key.sequence, ahead.sequence);
  EXPECT_EQ(world.pair.last_key.first, last + k_notice);
  EXPECT_FALSE(std::ranges::equal(world.pair.last_key.secret.view(), ahead.secret.view()));
  while (world.sent() < ahead.first + 100) world.run_for(50ms, k_busy);
  EXPECT_EQ(leaver.receiver.counts().from_group, last + k_notice);
  expect_everything(world);
}

TEST(KeyChange, AKeyThatBeginsTooSoonToBeReplacedIsFollowedByAnother) {
  KeyChange world;
  auto& leaver = world.add();
  while (world.pair.last_key.sequence == 0) world.run_for(50ms, 100);
  const ChannelKey ahead = world.pair.last_key;
  ASSERT_LT(ahead.first, world.sent() + k_notice);
  world.leave(leaver);
  EXPECT_EQ(world.pair.last_key.sequence, 1u);
  world.run_for(3s, k_busy);
  EXPECT_EQ(world.pair.last_key.sequence, 2u);
  EXPECT_LT(world.pair.last_key.first, ahead.first + k_notice + 48);
  EXPECT_EQ(leaver.receiver.counts().from_group, world.pair.last_key.first);
  expect_everything(world);
}

TEST(KeyChange, SeveralWhoLeaveTogetherShareOneKey) {
  KeyChange world;
  for (int i = 0; i < 9; ++i) world.add();
  world.run_for(200ms, k_busy);
  for (std::size_t i = 0; i < 5; ++i) world.pair.source.remove_receiver(*world.others[i]->id);
  for (std::size_t i = 0; i < 5; ++i) world.others[i]->id.reset();
  world.run_for(k_hold - 50ms, k_busy);
  EXPECT_EQ(world.pair.last_key.sequence, 1u);
  for (std::size_t i = 5; i < 8; ++i) {
    world.leave(*world.others[i]);
    EXPECT_EQ(world.pair.last_key.sequence, 1u) << "it is held back";
  }
  world.run_for(2s, k_busy);
  EXPECT_EQ(world.pair.last_key.sequence, 2u);
  EXPECT_EQ(world.others[7]->receiver.counts().from_group, world.pair.last_key.first);
  EXPECT_EQ(world.others[8]->receiver.counts().from_group, world.sent());
  expect_everything(world);
}

TEST(KeyChange, WhoComesAndGoesAllTheTimeChangesKeysSeldom) {
  KeyChange world;
  for (int i = 0; i < 1000; ++i) {
    const auto id = world.pair.source.add_receiver();
    ASSERT_TRUE(id);
    while (world.pair.source.poll_key(*id)) {
    }
    world.pair.source.remove_receiver(*id);
    world.run_for(50ms, k_busy / 2);
  }
  // In 50 s: after 0.5, 1, 2, 4 and 8 s, and then once in a key interval of 10 s. As many more
  // change by time.
  EXPECT_GE(world.pair.last_key.sequence, 5u);
  EXPECT_LE(world.pair.last_key.sequence, 14u);
  expect_everything(world);
  // Then one who leaves is served as the first one was.
  auto& leaver = world.add();
  world.run_for(25s, k_busy / 2);
  const ChannelKey before = world.pair.last_key;
  world.leave(leaver);
  EXPECT_LE(world.pair.last_key.first, world.sent() + k_notice);
  EXPECT_FALSE(std::ranges::equal(world.pair.last_key.secret.view(), before.secret.view()));
}

TEST(KeyChange, NothingChangesWhereTheChannelDoesNotWantIt) {
  SeededRandom random(3);
  NoAuthenticator authenticator;
  ChannelSource source({.offer = ChannelPair::unsigned_offer()}, authenticator, random);
  const auto stays = source.add_receiver();
  const auto leaves = source.add_receiver();
  ASSERT_TRUE(source.poll_key(*stays));
  source.on_timeout(k_pair_start);
  source.remove_receiver(*leaves);
  source.on_timeout(k_pair_start + 1s);
  EXPECT_FALSE(source.poll_key(*stays));
}

TEST(KeyChange, WhoJoinsReadsNothingThatWasSealedUnderEarlierKeys) {
  KeyChange world;
  auto& leaver = world.add();
  std::vector<std::vector<std::uint8_t>> recorded;
  const auto record_for = [&](Duration time) {
    for (const Time end = world.pair.now + time; world.pair.now < end; world.pair.now += 50ms) {
      world.pair.source.on_timeout(world.pair.now);
      for (auto& packet : world.pair.publish(k_busy)) recorded.push_back(std::move(packet));
      world.give_keys();
    }
  };
  record_for(200ms);
  world.leave(leaver);
  record_for(2s);
  auto& newcomer = world.add();
  for (const auto& packet : recorded) {
    newcomer.receiver.receive(packet, ChannelWay::kGroup, world.pair.now);
  }
  EXPECT_EQ(newcomer.receiver.counts().from_group, recorded.size() - world.pair.last_key.first);
}

// A group goes on while keys change: who comes late needs all of them.
TEST(KeyChange, WhoComesLateGetsTheKeysOfItsGroup) {
  KeyChange world;
  const StreamId group = *world.pair.source.open_group();
  std::vector<std::vector<std::uint8_t>> recorded;
  std::uint64_t written = 0;
  for (std::uint64_t key = 1; key <= 3; ++key) {
    world.leave(world.add());
    while (recorded.size() <= world.pair.last_key.first || world.pair.last_key.sequence < key) {
      world.pair.source.write(group, pattern_from(written, k_busy), false);
      written += k_busy;
      for (auto& packet : world.pair.packets()) recorded.push_back(std::move(packet));
      world.pair.now += 50ms;
      world.pair.source.on_timeout(world.pair.now);
      world.give_keys();
    }
  }
  auto& late = world.add();
  for (const auto& packet : recorded) {
    late.receiver.receive(packet, ChannelWay::kSource, world.pair.now);
  }
  EXPECT_EQ(late.receiver.counts().from_unicast, recorded.size());
}

// --- between hosts ------------------------------------------------------------------------------

struct Leaving {
  explicit Leaving(const ChannelWorld::Settings& settings) : world(settings) {
    for (int i = 0; i < 5; ++i) world.add_member();
    publish_for(300ms);
  }
  void publish_for(Duration time) { world.publish_for(time, 4000); }
  const MemberHost& host(std::size_t member) { return *world.members()[member]->host; }
  // Removes a member, and publishes until the key that was chosen then has begun. Returns how many
  // packets of the group the member opened.
  std::uint64_t leave(std::size_t member) {
    const ChannelKey before = *host(4).newest_key();
    world.remove_member(member);
    const auto is_known = [&] {
      const ChannelKey& newest = *host(4).newest_key();
      return !std::ranges::equal(newest.secret.view(), before.secret.view());
    };
    while (!is_known()) publish_for(33ms);
    while (world.source().source().ring().end() <= host(4).newest_key()->first) publish_for(33ms);
    // What is sealed already still arrives.
    world.simulation().run_for(60ms);
    return host(member).receiver().counts().from_group;
  }
  ChannelWorld world;
};

TEST(KeyChange, LeavingMembersCostTheOthersNothing) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Leaving leaving({.seed = seed,
                     .leaf_loss = 0.05,
                     .unicast_loss = 0.02,
                     .key_interval = 5s,
                     .max_rate = 300'000,
                     .scheme = AuthenticationScheme::kSigned});
    ChannelWorld& world = leaving.world;
    const Time start = world.simulation().now();
    std::vector<std::uint64_t> opened;
    for (std::size_t i = 0; i < 3; ++i) opened.push_back(leaving.leave(i));
    const std::uint64_t published = world.frames();
    leaving.publish_for(500ms);
    world.simulation().run_for(500ms);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(leaving.host(i).receiver().counts().from_group, opened[i]);
      for (std::uint64_t frame = published; frame < world.frames(); ++frame) {
        EXPECT_FALSE(world.has_frame(*world.members()[i], frame));
      }
    }
    for (std::size_t i = 3; i < 5; ++i) {
      const auto& member = *world.members()[i];
      EXPECT_EQ(world.late_frames(member, start), 0u) << member.name;
      EXPECT_FALSE(member.wrong_bytes);
      EXPECT_EQ(member.host->receiver().state(), ListenState::kReceiving);
    }
  }
}

TEST(KeyChange, LeavingMembersCauseNoCopies) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Leaving leaving({.seed = seed,
                     .key_interval = 5s,
                     .max_rate = 300'000,
                     .scheme = AuthenticationScheme::kSigned});
    const std::uint64_t copied = leaving.world.source().source().counts().copies;
    leaving.leave(0);
    leaving.publish_for(200ms);
    EXPECT_EQ(leaving.world.source().source().counts().copies, copied);
    for (std::size_t i = 1; i < 5; ++i) {
      EXPECT_EQ(leaving.host(i).receiver().counts().unreadable, 0u);
      EXPECT_EQ(leaving.host(i).receiver().counts().lost, 0u);
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
