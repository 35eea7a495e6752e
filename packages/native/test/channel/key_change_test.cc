#include <gtest/gtest.h>

#include "channel/pair.h"
#include "channel/world.h"

namespace sheaf::quic {
namespace {

using Packets = std::vector<std::vector<std::uint8_t>>;

// A source, and two receivers that get its keys
struct KeyChange {
  KeyChange() : leaver(pair.source.offer(), verifier, random, k_pair_start) {
    id = *pair.source.add_receiver();
    give_leaver_keys();
  }
  void give_leaver_keys() {
    while (const auto key = pair.source.poll_key(id)) leaver.on_key(*key, pair.now);
  }
  // It keeps every key that it has.
  void leave() {
    give_leaver_keys();
    pair.source.remove_receiver(id);
    pair.source.change_key(pair.now);
    pair.give_keys();
  }
  // Returns how many packets of these each receiver opens.
  std::pair<std::uint64_t, std::uint64_t> opened(const Packets& packets) {
    const std::uint64_t before = pair.receiver.counts().from_group;
    const std::uint64_t leaver_before = leaver.counts().from_group;
    for (const auto& packet : packets) {
      pair.receiver.receive(packet, ChannelWay::kGroup, pair.now);
      leaver.receive(packet, ChannelWay::kGroup, pair.now);
    }
    return {pair.receiver.counts().from_group - before, leaver.counts().from_group - leaver_before};
  }
  void advance_to_the_next_key() {
    const std::uint64_t before = pair.last_key.sequence;
    for (int i = 0; i < 200 && pair.last_key.sequence == before; ++i) {
      pair.now += 100ms;
      pair.source.on_timeout(pair.now);
      opened(pair.packets());
      pair.give_keys();
    }
    ASSERT_EQ(pair.last_key.sequence, before + 1);
  }

  ChannelPair pair;
  NoVerifier verifier;
  SeededRandom random{9};
  ChannelReceiver leaver;
  ChannelSource::ReceiverId id = 0;
};

using Opened = std::pair<std::uint64_t, std::uint64_t>;

TEST(KeyChange, WhoLeftReadsNothingThatIsSealedLater) {
  KeyChange world;
  EXPECT_EQ(world.opened(world.pair.publish(4000)), Opened(4, 4));
  world.leave();
  EXPECT_EQ(world.opened(world.pair.publish(4000)), Opened(4, 0));
}

TEST(KeyChange, AKeyThatWhoLeftHasAheadIsNeverUsed) {
  KeyChange world;
  world.opened(world.pair.publish(4000));
  world.advance_to_the_next_key();
  const ChannelKey ahead = world.pair.last_key;
  world.leave();
  EXPECT_EQ(world.pair.last_key.sequence, ahead.sequence);
  EXPECT_LT(world.pair.last_key.first, ahead.first);
  EXPECT_NE(world.pair.last_key.secret.view()[0] | world.pair.last_key.secret.view()[1] << 8,
            ahead.secret.view()[0] | ahead.secret.view()[1] << 8);
  std::uint64_t opened = 0;
  for (PacketNumber end = 0; end < ahead.first + 50; end = world.pair.source.ring().end()) {
    const auto packets = world.pair.publish(20'000);
    EXPECT_EQ(world.opened(packets), Opened(packets.size(), 0));
    opened += packets.size();
    world.pair.now += 50ms;
  }
  EXPECT_GT(opened, 100u);
  EXPECT_EQ(world.pair.receiver.state(), ListenState::kReceiving);
}

TEST(KeyChange, WhatWaitsToBeSentIsSealedWithTheNewKey) {
  KeyChange world;
  const StreamId group = *world.pair.source.open_group();
  world.pair.source.write(group, pattern_from(0, 40'000), true);
  world.leave();
  EXPECT_EQ(world.opened(world.pair.packets()).second, 0u);
}

TEST(KeyChange, SeveralWhoLeaveTogetherCostOneKey) {
  KeyChange world;
  world.opened(world.pair.publish(4000));
  world.leave();
  const ChannelKey first = world.pair.last_key;
  world.pair.source.change_key(world.pair.now);
  world.pair.give_keys();
  EXPECT_EQ(world.pair.last_key.sequence, first.sequence);
  EXPECT_EQ(world.pair.last_key.first, first.first);
  EXPECT_EQ(world.opened(world.pair.publish(4000)), Opened(4, 0));
}

TEST(KeyChange, WhoJoinsReadsNothingThatWasSealedUnderEarlierKeys) {
  KeyChange world;
  const auto recorded = world.pair.publish(4000);
  world.pair.source.change_key(world.pair.now);
  const auto present = world.pair.publish(4000);
  ChannelReceiver newcomer(world.pair.source.offer(), world.verifier, world.random, world.pair.now);
  const auto id = world.pair.source.add_receiver();
  ASSERT_TRUE(id);
  while (const auto key = world.pair.source.poll_key(*id)) newcomer.on_key(*key, world.pair.now);
  for (const auto& packet : recorded) {
    newcomer.receive(packet, ChannelWay::kGroup, world.pair.now);
  }
  EXPECT_EQ(newcomer.counts().from_group, 0u);
  for (const auto& packet : present) {
    newcomer.receive(packet, ChannelWay::kGroup, world.pair.now);
  }
  EXPECT_EQ(newcomer.counts().from_group, present.size());
}

// A group goes on while keys change: who comes late needs all of them.
TEST(KeyChange, WhoComesLateGetsTheKeysOfItsGroup) {
  KeyChange world;
  const StreamId group = *world.pair.source.open_group();
  Packets sent;
  for (std::uint64_t i = 0; i < 4; ++i) {
    world.pair.source.write(group, pattern_from(1000 * i, 1000), i == 3);
    for (auto& packet : world.pair.packets()) sent.push_back(std::move(packet));
    world.pair.source.change_key(world.pair.now);
  }
  ChannelReceiver late(world.pair.source.offer(), world.verifier, world.random, world.pair.now);
  const auto id = world.pair.source.add_receiver();
  ASSERT_TRUE(id);
  while (const auto key = world.pair.source.poll_key(*id)) late.on_key(*key, world.pair.now);
  for (const auto& packet : sent) late.receive(packet, ChannelWay::kSource, world.pair.now);
  EXPECT_EQ(late.counts().from_unicast, sent.size());
}

TEST(KeyChange, LeavingMembersCostTheOthersNothing) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    ChannelWorld world({.seed = seed,
                        .leaf_loss = 0.05,
                        .unicast_loss = 0.02,
                        .scheme = AuthenticationScheme::kSigned});
    for (int i = 0; i < 5; ++i) world.add_member();
    world.simulation().run_for(200ms);
    const Time start = world.simulation().now();
    std::vector<std::uint64_t> opened;
    for (std::size_t i = 0; i < 3; ++i) {
      world.publish_for(400ms, 4000);
      world.remove_member(i);
      // What is sealed already still arrives.
      world.simulation().run_for(60ms);
      opened.push_back(world.members()[i]->host->receiver().counts().from_group);
    }
    world.publish_for(600ms, 4000);
    world.simulation().run_for(500ms);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(world.members()[i]->host->receiver().counts().from_group, opened[i]);
    }
    for (std::size_t i = 3; i < 5; ++i) {
      const auto& member = *world.members()[i];
      EXPECT_EQ(world.late_frames(member, start), 0u) << member.name;
      EXPECT_FALSE(member.wrong_bytes);
      EXPECT_EQ(member.host->receiver().state(), ListenState::kReceiving);
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
