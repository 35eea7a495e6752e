#include "channel/source.h"

#include <gtest/gtest.h>

#include "channel/pair.h"

namespace sheaf::quic {
namespace {

ChannelState at(ListenState state, PacketNumber number) {
  return {.channel = k_test_channel, .offer = 3, .state = state, .number = number};
}

std::size_t copies(ChannelPair& pair) {
  std::size_t count = 0;
  while (!pair.source.poll_copy(pair.id, pair.now).empty()) ++count;
  return count;
}

ChannelReport report_of(std::uint64_t sequence, PacketNumber end, const Interval& missing) {
  ChannelReport report;
  report.channel = k_test_channel;
  report.sequence = sequence;
  report.end = end;
  report.missing.push_back(missing);
  return report;
}

TEST(ChannelSource, FullPacketsLieSideBySide) {
  ChannelPair pair;
  const StreamId group = *pair.source.open_group();
  pair.source.write(group, pattern_from(0, 5000), true);
  const Bytes batch = pair.source.poll_transmit(48, pair.now);
  EXPECT_EQ(batch.size() / 1350, 3u);
  EXPECT_GT(batch.size() % 1350, 0u);
  EXPECT_EQ(batch.data(), pair.source.ring().find(0).data());
  EXPECT_TRUE(pair.source.poll_transmit(48, pair.now).empty());
}

TEST(ChannelSource, KeepsItsRate) {
  ChannelPair pair;
  const StreamId group = *pair.source.open_group();
  std::size_t sent = 0;
  for (const Time end = pair.now + 2s; pair.now < end;) {
    pair.source.write(group, pattern_from(0, 50'000), false);
    pair.source.on_timeout(pair.now);
    sent += pair.source.poll_transmit(32, pair.now).size();
    pair.now = std::max(pair.now + 1us, pair.source.next_timeout());
  }
  EXPECT_NEAR(static_cast<double>(sent), 2'500'000, 100'000);
}

TEST(ChannelSource, TakesNoMoreThanHalfOfItsLog) {
  ChannelPair pair;
  const StreamId group = *pair.source.open_group();
  std::size_t taken = 0;
  for (std::size_t once = 1; once > 0; taken += once) {
    once = pair.source.write(group, pattern_from(0, 50'000), false).bytes;
  }
  EXPECT_GT(taken, 1000u * 1300u);
  EXPECT_LE(taken, 1000u * 1350u);
  pair.packets();
  EXPECT_GT(pair.source.write(group, pattern_from(0, 50'000), false).bytes, 0u);
}

TEST(ChannelSource, SaysSomethingInEachInterval) {
  ChannelPair pair;
  const auto sent = pair.publish(100);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(pair.source.next_timeout(), pair.now + 100ms);
  pair.now += 100ms;
  pair.source.on_timeout(pair.now);
  EXPECT_EQ(pair.packets().size(), 1u);
}

TEST(ChannelSource, CopiesUntilTheGroupArrives) {
  ChannelPair pair;
  pair.publish(5000);
  EXPECT_EQ(copies(pair), 4u);
  pair.publish(5000);
  pair.source.on_state(pair.id, at(ListenState::kReceiving, 6), pair.now);
  EXPECT_EQ(copies(pair), 2u);
  pair.publish(5000);
  EXPECT_EQ(copies(pair), 0u);
  pair.source.on_state(pair.id, at(ListenState::kUnicast, 9), pair.now);
  EXPECT_EQ(copies(pair), 3u);
  pair.source.on_state(pair.id, at(ListenState::kLeft, 0), pair.now);
  pair.publish(5000);
  EXPECT_EQ(copies(pair), 0u);
}

TEST(ChannelSource, GivesTheLogByUnicastOnceInAnInterval) {
  ChannelPair pair;
  pair.publish(5000);
  pair.source.on_state(pair.id, at(ListenState::kReceiving, 0), pair.now);
  EXPECT_EQ(copies(pair), 0u);
  for (int i = 0; i < 9; ++i) {
    pair.source.on_state(pair.id, at(ListenState::kUnicast, 0), pair.now);
    EXPECT_EQ(copies(pair), i == 0 ? 4u : 0u);
    pair.now += 11ms;
  }
  EXPECT_EQ(pair.source.counts().refused_states, 8u);
  pair.now += 1ms;
  pair.source.on_state(pair.id, at(ListenState::kUnicast, 2), pair.now);
  EXPECT_EQ(copies(pair), 2u);
}

// The network may bring two changes of state together. The second one is no reason to starve.
TEST(ChannelSource, CopiesGoOnForWhoLosesTheGroupTwiceInAnInterval) {
  ChannelPair pair;
  pair.publish(5000);
  pair.source.on_state(pair.id, at(ListenState::kUnicast, 0), pair.now);
  EXPECT_EQ(copies(pair), 4u);
  pair.source.on_state(pair.id, at(ListenState::kReceiving, 2), pair.now);
  pair.source.on_state(pair.id, at(ListenState::kUnicast, 2), pair.now);
  pair.publish(5000);
  EXPECT_EQ(copies(pair), 4u);
}

// It got by the group what is between.
TEST(ChannelSource, NothingIsCopiedToWhoSaysAgainThatItHearsTheGroup) {
  ChannelPair pair;
  pair.publish(5000);
  pair.source.on_state(pair.id, at(ListenState::kReceiving, 0), pair.now);
  pair.publish(5000);
  pair.source.on_state(pair.id, at(ListenState::kReceiving, 6), pair.now);
  EXPECT_EQ(copies(pair), 0u);
}

TEST(ChannelSource, WaitsForItsRateAlone) {
  SeededRandom random(5);
  NoAuthenticator authenticator;
  SourceConfig config{.offer = ChannelPair::unsigned_offer()};
  config.offer.max_rate = 5000;  // a packet in 270 ms
  ChannelSource source(config, authenticator, random);
  Time now = k_pair_start;
  source.write(*source.open_group(), pattern_from(0, 60'000), true);
  while (!source.poll_transmit(48, now).empty()) {
  }
  now += config.offer.report_interval;
  source.on_timeout(now);
  EXPECT_TRUE(source.poll_transmit(48, now).empty());
  EXPECT_GT(source.next_timeout(), now);
}

TEST(ChannelSource, CopiesWhatIsMissingWhileItIsWorthSomething) {
  ChannelPair pair;
  pair.publish(8000);
  pair.source.on_state(pair.id, at(ListenState::kReceiving, 0), pair.now);
  pair.source.on_report(pair.id, report_of(1, 6, {2, 4}), pair.now);
  EXPECT_EQ(copies(pair), 2u);
  pair.source.on_copy_lost(pair.id, 3);
  EXPECT_EQ(copies(pair), 1u);
  pair.now += 351ms;
  pair.source.on_report(pair.id, report_of(2, 6, {2, 4}), pair.now);
  EXPECT_EQ(copies(pair), 0u);
}

TEST(ChannelSource, IgnoresReportsThatAreOldOrTooSoonOrOfTheFuture) {
  ChannelPair pair;
  pair.publish(8000);
  pair.source.on_state(pair.id, at(ListenState::kReceiving, 0), pair.now);
  pair.source.on_report(pair.id, report_of(1, 1000, {2, 4}), pair.now);
  EXPECT_EQ(pair.source.counts().refused_reports, 1u);
  pair.source.on_report(pair.id, report_of(1, 6, {2, 4}), pair.now);
  pair.source.on_report(pair.id, report_of(2, 6, {2, 4}), pair.now + 24ms);
  pair.source.on_report(pair.id, report_of(1, 6, {2, 4}), pair.now + 1s);
  EXPECT_EQ(pair.source.counts().refused_reports, 3u);
}

TEST(ChannelSource, CopiesShareOneRate) {
  ChannelPair pair;
  for (int i = 0; i < 40; ++i) {
    pair.publish(25'000);
    pair.now += 20ms;
  }
  const std::size_t at_once = copies(pair);
  EXPECT_LE(at_once, 33u);  // the burst
  EXPECT_TRUE(pair.source.due_to(pair.id).copy);
  EXPECT_GT(pair.source.copy_budget().next(), pair.now);
}

TEST(ChannelSource, WhoComesLateGetsTheNewestGroupAndItsKeyAlone) {
  ChannelPair pair;
  pair.publish(5000);
  pair.publish(5000);
  const auto late = pair.source.add_receiver();
  ASSERT_TRUE(late);
  ASSERT_NE(*late, pair.id);
  EXPECT_FALSE(pair.source.poll_copy(*late, pair.now).empty());
  EXPECT_EQ(pair.source.last_copy(), 4u);
  EXPECT_EQ(pair.source.poll_key(*late)->sequence, 0u);
  EXPECT_FALSE(pair.source.poll_key(*late));
}

TEST(ChannelSource, NothingIsCopiedToWhoLeftOrWasRemoved) {
  ChannelPair pair;
  pair.publish(8000);
  pair.source.on_state(pair.id, at(ListenState::kLeft, 0), pair.now);
  pair.source.on_copy_lost(pair.id, 3);
  pair.source.on_report(pair.id, report_of(1, 6, {2, 4}), pair.now);
  pair.source.on_state(pair.id, at(ListenState::kWant, 0), pair.now);
  EXPECT_FALSE(pair.source.due_to(pair.id).copy);
  EXPECT_EQ(copies(pair), 0u);
  pair.source.remove_receiver(pair.id);
  for (const ChannelSource::ReceiverId id : {pair.id, pair.id + 1}) {
    pair.source.remove_receiver(id);
    pair.source.on_state(id, at(ListenState::kUnicast, 0), pair.now);
    pair.source.on_report(id, report_of(2, 6, {2, 4}), pair.now);
    pair.source.on_copy_lost(id, 3);
    EXPECT_FALSE(pair.source.due_to(id).copy);
    EXPECT_FALSE(pair.source.poll_key(id));
    EXPECT_TRUE(pair.source.poll_copy(id, pair.now).empty());
  }
}

TEST(ChannelSource, WithoutAGroupTheDeadlineHoldsForWhatCameLater) {
  ChannelPair pair;
  const StreamId group = *pair.source.open_group();
  pair.source.write(group, pattern_from(0, 4000), false);
  pair.packets();
  pair.now += 400ms;
  const auto late = pair.source.add_receiver();
  ASSERT_TRUE(late);
  pair.id = *late;
  EXPECT_EQ(copies(pair), 4u) << "it needs its group from the start";
  pair.source.write(group, pattern_from(0, 4000), false);
  pair.packets();
  pair.now += 351ms;
  EXPECT_EQ(copies(pair), 0u);
}

TEST(ChannelSource, KeepsGroupsWithinWhatReceiversHold) {
  ChannelPair pair;
  const StreamId first = *pair.source.open_group();
  for (std::size_t i = 1; i < GroupStreams::k_max_open; ++i) {
    ASSERT_TRUE(pair.source.write(*pair.source.open_group(), pattern_from(0, 9), true).fin);
    pair.packets();
    pair.now += 10ms;
  }
  EXPECT_FALSE(pair.source.open_group());
  EXPECT_TRUE(pair.source.write(first, pattern_from(0, 9), true).fin);
  EXPECT_TRUE(pair.source.open_group());
}

TEST(ChannelSource, TakesNoMoreOfAGroupThanReceiversHold) {
  SeededRandom random(8);
  NoAuthenticator authenticator;
  SourceConfig config{.offer = example_offer()};
  config.offer.max_rate = 4'000'000'000;
  ChannelSource source(config, authenticator, random);
  const StreamId group = *source.open_group();
  std::uint64_t taken = 0;
  Time now = k_pair_start;
  for (std::size_t once = 1; once > 0; taken += once) {
    const auto written =
        source.write(group, pattern_from(0, 50'000), taken + 50'000 > GroupStreams::k_max_group);
    once = written.bytes;
    EXPECT_FALSE(written.fin);
    while (!source.poll_transmit(48, now).empty()) now += 1ms;
  }
  EXPECT_EQ(taken, GroupStreams::k_max_group);
  EXPECT_TRUE(source.write(group, {}, true).fin);
}

}  // namespace
}  // namespace sheaf::quic
