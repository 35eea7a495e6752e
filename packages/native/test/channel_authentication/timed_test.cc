#include <gtest/gtest.h>

#include "channel_authentication/channel_world.h"
#include "channel_authentication/timed_source.h"
#include "channel_authentication/timed_verifier.h"

namespace sheaf::quic {
namespace {

constexpr Duration k_clocks_apart = std::chrono::hours(2);  // the source's is ahead
constexpr Duration k_one_way = 20ms;

// A source and a member with the scheme `timed`. Times are those of the member's clock.
struct TimedWorld {
  explicit TimedWorld(double checks_per_second = 200)
      : schedule{.start = source_time(k_auth_start), .interval = 50ms, .delay = 3},
        source(k_test_channel, schedule, chain),
        member({.channel = k_test_channel,
                .schedule = schedule,
                .known_key = chain.commitment(),
                .checks_per_second = checks_per_second},
               clock, random) {
    // A nonce on its way for one way, and its answer for another.
    clock.on_answer(now, source_time(now + k_one_way));
  }
  static Time source_time(Time time) { return time + k_clocks_apart; }
  Verdict receive(const TestPacket& packet, Duration delay) {
    return member.on_packet(packet.received(), now + delay);
  }
  std::vector<TestPacket> send(PacketNumber first, std::size_t count) {
    return send_packets(source, first, count, random, source_time(now));
  }
  std::vector<std::vector<std::uint8_t>> frames() { return frames_of(source, source_time(now)); }

  SeededRandom random{41};
  Time now = k_auth_start;
  TimedSchedule schedule;
  KeyChain chain{k_test_channel, ChainKey{1, 2, 3}};
  ClockBound clock;
  TimedSource source;
  TimedVerifier member;
};

TEST(KeyChain, EachKeyProvesItselfByEarlierOnes) {
  KeyChain chain(k_test_channel, ChainKey{9});
  for (std::uint32_t i = 1000; i > 0; --i) {
    EXPECT_EQ(previous_chain_key(k_test_channel, chain.key(i)), chain.key(i - 1));
  }
  ChannelId other = k_test_channel;
  other[7] ^= 1;
  EXPECT_NE(previous_chain_key(other, chain.key(1000)), chain.key(999));
  EXPECT_NE(mac_key_of(k_test_channel, chain.key(1000)), chain.key(999));
}

TEST(KeyChain, IsFollowedByOneThatNothingTells) {
  constexpr std::uint32_t k_end = k_chain_length;
  KeyChain chain(k_test_channel, ChainKey{9});
  const ChainKey last = chain.key(k_end);
  const ChainKey commitment = chain.commitment(1);
  EXPECT_EQ(previous_chain_key(k_test_channel, chain.key(k_end + 1)), commitment);
  EXPECT_NE(commitment, last);
  EXPECT_EQ(chain.key(k_end), last);
  // The third takes the place of the first.
  EXPECT_EQ(previous_chain_key(k_test_channel, chain.key(2 * k_end + 1)), chain.commitment(2));
  EXPECT_EQ(chain.key(k_end), last);
}

TEST(KeyChain, MembersGoOnWithTheNextOneByItsCommitment) {
  using Outcome = DisclosedKeys::Outcome;
  constexpr std::uint32_t k_end = k_chain_length;
  KeyChain chain(k_test_channel, ChainKey{9});
  DisclosedKeys keys(k_test_channel, k_end - 5, chain.key(k_end - 5));
  EXPECT_EQ(keys.add(k_end + 3, chain.key(k_end + 3)), Outcome::kTooFar) << "no commitment";
  keys.commit(1, chain.commitment(1));
  keys.commit(0, ChainKey{1});  // of the present chain: nothing new
  EXPECT_EQ(keys.add(k_end + 3, chain.key(2)), Outcome::kForged);
  EXPECT_EQ(keys.add(k_end - 2, chain.key(k_end - 2)), Outcome::kNew);
  EXPECT_EQ(keys.add(k_end + 3, chain.key(k_end + 3)), Outcome::kNew);
  EXPECT_EQ(keys.add(k_end + 4, chain.key(k_end + 4)), Outcome::kNew);
  for (const std::uint32_t known : {k_end - 3, k_end - 2, k_end + 1, k_end + 4}) {
    EXPECT_EQ(keys.mac_key(known), mac_key_of(k_test_channel, chain.key(known))) << known;
  }
  EXPECT_FALSE(keys.mac_key(k_end)) << "was not disclosed in time";
  // A commitment far ahead begins anew.
  keys.commit(4, chain.commitment(4));
  EXPECT_EQ(keys.latest(), 4 * k_end);
  EXPECT_EQ(keys.add(4 * k_end + 1, chain.key(4 * k_end + 1)), Outcome::kNew);
}

TEST(KeyChain, DisclosedKeysMaySkipIntervalsWithinABound) {
  using Outcome = DisclosedKeys::Outcome;
  KeyChain chain(k_test_channel, ChainKey{9});
  DisclosedKeys keys(k_test_channel, 0, chain.commitment());
  EXPECT_EQ(keys.add(3, chain.key(3)), Outcome::kNew);
  EXPECT_EQ(keys.add(2, chain.key(2)), Outcome::kKnown);
  EXPECT_EQ(keys.add(4, chain.key(5)), Outcome::kForged);
  EXPECT_EQ(keys.add(100, chain.key(100)), Outcome::kNew);
  EXPECT_EQ(keys.mac_key(100), mac_key_of(k_test_channel, chain.key(100)));
  EXPECT_EQ(keys.mac_key(37), mac_key_of(k_test_channel, chain.key(37)));
  EXPECT_FALSE(keys.mac_key(36)) << "too long ago";
  EXPECT_FALSE(keys.mac_key(101));
  EXPECT_FALSE(keys.mac_key(0));
  EXPECT_EQ(keys.add(100 + DisclosedKeys::k_max_steps + 1, chain.key(1125)), Outcome::kTooFar);
  EXPECT_EQ(keys.add(100 + DisclosedKeys::k_max_steps, chain.key(1124)), Outcome::kNew);
  EXPECT_EQ(keys.mac_key(1124), mac_key_of(k_test_channel, chain.key(1124)));
}

TEST(TimedSchedule, CountsIntervalsFromOne) {
  const TimedSchedule schedule{.start = k_auth_start, .interval = 50ms};
  EXPECT_EQ(schedule.interval_at(k_auth_start - 1ns), 0u);
  EXPECT_EQ(schedule.interval_at(k_auth_start), 1u);
  EXPECT_EQ(schedule.interval_at(k_auth_start + 50ms), 2u);
  EXPECT_EQ(schedule.start_of(2), k_auth_start + 50ms);
}

TEST(TimedSchedule, DisclosesKeysAfterAQuarterOfTheDeadlineAndWithinTheLog) {
  const auto interval = [](Duration deadline, Duration log) {
    return choose_timed_schedule(deadline, log, k_auth_start).interval;
  };
  EXPECT_EQ(choose_timed_schedule(2s, 10s, k_auth_start).delay, 4u);
  EXPECT_EQ(interval(2s, 10s), 125ms);
  EXPECT_EQ(interval(60s, 3600s), 250ms);
  // 16,384 packets of 1300 bytes at 200 and at 1000 Mbit/s
  EXPECT_EQ(interval(2s, 852ms), 85ms);
  EXPECT_EQ(interval(2s, 170ms), 17ms);
  EXPECT_EQ(interval(10ms, 10ms), 15ms);
}

// Receivers refuse a response with a later chain.
TEST(Timed, NoChainFollowsTheLastOne) {
  KeyChain chain(k_test_channel, ChainKey{1});
  const TimedSchedule schedule{.start = k_auth_start, .interval = 50ms, .delay = 3};
  TimedSource source(k_test_channel, schedule, chain);
  const Time end = schedule.start_of(TimedSchedule::k_last);
  for (const Duration before : {k_chain_length * 50ms, 600 * 50ms, 50ms, 0ms}) {
    const auto clock = source.clock(end - before);
    EXPECT_EQ(clock->chain, k_last_chain);
    EXPECT_EQ(clock->commitment, chain.commitment(k_last_chain));
  }
  EXPECT_EQ(source.clock(end - 2 * k_chain_length * 50ms)->chain, k_last_chain - 1);
}

TEST(Timed, ProvesPacketsOnceTheirKeyIsDisclosed) {
  TimedWorld world;
  std::vector<TestPacket> all;
  std::vector<PacketNumber> proven;
  for (int i = 0; i < 30; ++i) {
    for (auto& packet : world.send(all.size(), 10)) {
      EXPECT_EQ(world.receive(packet, k_one_way), Verdict::kWaiting);
      all.push_back(std::move(packet));
    }
    world.now += 25ms;
    give(world.member, world.frames(), world.now + k_one_way);
    const auto fresh = proven_numbers(world.member, all);
    proven.insert(proven.end(), fresh.begin(), fresh.end());
  }
  EXPECT_GT(proven.size(), 200u);
  const Time due = world.source.next_timeout();
  EXPECT_NE(due, k_never);
  world.now += 200ms;
  give(world.member, world.frames(), world.now + k_one_way);
  const auto rest = proven_numbers(world.member, all);
  proven.insert(proven.end(), rest.begin(), rest.end());
  EXPECT_EQ(proven, numbers_from(0, 300));
  EXPECT_EQ(world.source.next_timeout(), k_never) << "idle";
  EXPECT_EQ(world.member.counts().forged_packets, 0u);
}

// RFC 4082 §3.5: whoever has heard the disclosed key can make the tag.
TEST(Timed, LatePacketsAreNotTaken) {
  TimedWorld world;
  const auto sent = world.send(0, 3);
  EXPECT_EQ(world.receive(sent[0], 0ms), Verdict::kWaiting);
  // The interval's key is disclosed 150 ms after its start. The bound is 20 ms too far.
  EXPECT_EQ(world.receive(sent[1], 129ms), Verdict::kWaiting);
  EXPECT_EQ(world.receive(sent[2], 131ms), Verdict::kRefused);
}

TEST(Timed, ForgeriesUnderADisclosedKeyAreLate) {
  TimedWorld world;
  const auto sent = world.send(0, 1);
  world.receive(sent[0], 0ms);
  world.now += 150ms;
  const auto frames = world.frames();
  ASSERT_EQ(frames.size(), 1u);
  const auto disclosed = std::get<DisclosureFrame>(decoded(frames[0]));
  // The forger sits beside the source, and is as fast as can be.
  TestPacket forged = random_packet(1, world.random, k_timed_trailer_length);
  ChainKey key;
  std::ranges::copy(disclosed.key, key.begin());
  const auto mac = make_packet_mac();
  mac->set_key(mac_key_of(k_test_channel, key));
  const MutableBytes datagram(forged.datagram);
  store(datagram.data() + 200, disclosed.interval);
  std::ranges::copy(mac->tag(datagram.first(204), 1), datagram.begin() + 204);
  EXPECT_EQ(world.receive(forged, 0ms), Verdict::kRefused);
  give(world.member, frames, world.now);
  EXPECT_EQ(proven_numbers(world.member, sent), numbers_from(0, 1));
}

TEST(Timed, ForgedPacketsAndOtherNumbersAreDropped) {
  TimedWorld world;
  const auto sent = world.send(0, 20);
  for (const auto& packet : sent) {
    TestPacket forged = packet;
    forged.datagram[world.random.below(200)] ^= 1;
    world.receive(forged, 0ms);
    TestPacket swapped = packet;
    swapped.number ^= 1;
    world.receive(swapped, 0ms);
    world.receive(packet, 0ms);
  }
  world.now += 150ms;
  give(world.member, world.frames(), world.now);
  EXPECT_EQ(proven_numbers(world.member, sent).size(), 20u);
  EXPECT_EQ(world.member.counts().forged_packets, 40u);
}

TEST(Timed, IntervalsThatCannotBeAreRefused) {
  TimedWorld world;
  auto packet = world.send(0, 1)[0];
  for (std::uint32_t interval : {0u, 2u, 3u, UINT32_MAX}) {
    store(packet.datagram.data() + 200, interval);
    EXPECT_EQ(world.receive(packet, 0ms), Verdict::kRefused) << interval;
  }
  for (std::size_t length = 0; length <= k_timed_trailer_length; ++length) {
    packet.datagram.resize(length);
    EXPECT_NE(world.receive(packet, 0ms), Verdict::kWaiting) << length;
  }
}

TEST(Timed, NothingIsTakenBeforeTheClocksAreKnown) {
  TimedWorld world;
  const ClockBound unknown;
  TimedVerifier member({.channel = k_test_channel, .schedule = world.schedule}, unknown,
                       world.random);
  EXPECT_EQ(member.on_packet(world.send(0, 1)[0].received(), world.now), Verdict::kRefused);
}

TEST(Timed, WhatWaitsOnABoundGoesWithIt) {
  TimedWorld world;
  const auto early = world.send(0, 3);
  for (const auto& packet : early) EXPECT_EQ(world.receive(packet, k_one_way), Verdict::kWaiting);
  world.clock.forget();
  EXPECT_EQ(world.receive(early[0], k_one_way), Verdict::kRefused);
  EXPECT_EQ(world.member.counts().evicted_packets, 3u);
  world.clock.on_answer(world.now, TimedWorld::source_time(world.now + k_one_way));
  const auto later = world.send(3, 3);
  for (const auto& packet : later) EXPECT_EQ(world.receive(packet, k_one_way), Verdict::kWaiting);
  world.now += 150ms;
  give(world.member, world.frames(), world.now);
  EXPECT_EQ(proven_numbers(world.member, later), numbers_from(3, 3));
}

TEST(Timed, LostDisclosuresAreMadeUpForByLaterOnes) {
  TimedWorld world;
  std::vector<TestPacket> all;
  for (int i = 0; i < 20; ++i) {
    for (auto& packet : world.send(all.size(), 2)) {
      world.receive(packet, 0ms);
      all.push_back(std::move(packet));
    }
    world.now += 50ms;
    world.frames();  // all of them are lost
  }
  for (auto& packet : world.send(all.size(), 2)) {
    world.receive(packet, 0ms);
    all.push_back(std::move(packet));
  }
  world.now += 150ms;
  give(world.member, world.frames(), world.now);
  EXPECT_EQ(proven_numbers(world.member, all), numbers_from(0, 42));
}

TEST(Timed, AChannelCanBeJoinedAfterAnyTime) {
  TimedWorld world;
  world.now += 2000 * 50ms;
  auto packets = world.send(1, 1);
  EXPECT_EQ(world.receive(packets[0], k_one_way), Verdict::kWaiting);
  world.now += 150ms;
  const auto frames = world.frames();
  ASSERT_EQ(frames.size(), 1u);
  give(world.member, frames, world.now + k_one_way, FrameOrigin::kChannel);
  EXPECT_EQ(proven_numbers(world.member, packets), numbers_from(1, 0));
  give(world.member, frames, world.now + k_one_way, FrameOrigin::kConnection);
  EXPECT_EQ(proven_numbers(world.member, packets), numbers_from(1, 1));

  // With a key of the offer, the channel alone is enough.
  TimedVerifier later({.channel = k_test_channel,
                       .schedule = world.schedule,
                       .known_interval = 1990,
                       .known_key = world.chain.key(1990)},
                      world.clock, world.random);
  packets = world.send(2, 1);
  EXPECT_EQ(later.on_packet(packets[0].received(), world.now + k_one_way), Verdict::kWaiting);
  world.now += 150ms;
  give(later, world.frames(), world.now + k_one_way, FrameOrigin::kChannel);
  EXPECT_EQ(proven_numbers(later, packets), numbers_from(2, 1));
}

TEST(Timed, AChannelGoesOnInTheNextChain) {
  TimedWorld world;
  std::vector<TestPacket> all;
  std::size_t proven = 0;
  world.now += 50ms * (k_chain_length - 40);
  world.clock.on_answer(world.now, TimedWorld::source_time(world.now + k_one_way));
  const auto clock = *world.source.clock(TimedWorld::source_time(world.now));
  EXPECT_EQ(clock.chain, 1u);
  EXPECT_EQ(world.source.clock(TimedWorld::source_time(k_auth_start))->chain, 0u);
  // A key that is disclosed now; the connection brings it, since it is far from the first one.
  world.send(0, 1);
  world.now += 150ms;
  give(world.member, world.frames(), world.now, FrameOrigin::kConnection);
  world.member.on_clock(clock);
  for (PacketNumber number = 1; number <= 80; ++number) {
    all.push_back(world.send(number, 1)[0]);
    EXPECT_EQ(world.receive(all.back(), k_one_way), Verdict::kWaiting) << number;
    world.now += 50ms;
    give(world.member, world.frames(), world.now + k_one_way);
    proven += proven_numbers(world.member, all).size();
  }
  world.now += 150ms;
  give(world.member, world.frames(), world.now + k_one_way);
  proven += proven_numbers(world.member, all).size();
  EXPECT_EQ(proven, 80u);
  EXPECT_EQ(world.member.counts().forged_packets, 0u);
}

TEST(Timed, WhoHasADisclosedKeyProvesNothingByIt) {
  TimedWorld world;
  const auto packets = world.send(1, 2);
  // The connection disclosed the key earlier than the clock's bound tells.
  const ChainKey key = world.chain.key(1);
  const DisclosureFrame frame{.interval = 1, .key = key};
  world.now += 150ms;
  EXPECT_TRUE(world.member.on_frame(frame, FrameOrigin::kConnection, world.now));
  EXPECT_EQ(world.member.on_packet(packets[1].received(), world.now - 100ms), Verdict::kRefused);
}

TEST(Timed, ForgedDisclosuresAreLimited) {
  TimedWorld world(0);
  const auto sent = world.send(0, 1);
  world.receive(sent[0], 0ms);
  world.now += 150ms;
  const ChainKey bogus{7};
  const DisclosureFrame early{.interval = 5, .key = bogus};
  EXPECT_TRUE(world.member.on_frame(early, FrameOrigin::kChannel, world.now));
  EXPECT_EQ(world.member.counts().forged_frames, 1u) << "not yet disclosed";
  for (int i = 0; i < 100; ++i) {
    const DisclosureFrame forged{.interval = 1, .key = bogus};
    world.member.on_frame(forged, FrameOrigin::kChannel, world.now);
  }
  EXPECT_EQ(world.member.counts().forged_frames, 51u);
  EXPECT_EQ(world.member.counts().refused_frames, 50u);
  give(world.member, world.frames(), world.now, FrameOrigin::kConnection);
  EXPECT_EQ(proven_numbers(world.member, sent).size(), 1u);
}

TEST(Timed, PacketsWithoutAKeyAreDropped) {
  TimedWorld world;
  for (const auto& packet : world.send(0, 5)) world.receive(packet, 0ms);
  EXPECT_EQ(world.member.next_timeout(), world.now + 2s);
  world.member.on_timeout(world.now + 2s + 1ns);
  EXPECT_EQ(world.member.next_timeout(), k_never) << "nothing waits";
}

}  // namespace
}  // namespace sheaf::quic
