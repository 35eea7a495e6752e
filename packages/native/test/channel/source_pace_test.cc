#include <gtest/gtest.h>

#include "channel/pair.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_slow = 1'250'000;  // bytes per second
constexpr std::uint64_t k_fast = 125'000'000;
constexpr std::size_t k_packet = 1350;

// A source that always has something to send
class BusySource {
 public:
  explicit BusySource(std::uint64_t rate)
      : source_(config(rate), authenticator_, random_), group_(*source_.open_group()) {}

  // Sends all that may leave now. Returns its bytes.
  std::size_t send() {
    source_.on_timeout(now_);
    for (std::size_t sent = 0;;) {
      source_.write(group_, content_, false);
      const Bytes batch = source_.poll_transmit(48, now_);
      if (batch.empty()) return sent;
      sent += batch.size();
    }
  }
  // Sends whenever the source wants to. Returns the bytes of each time.
  std::vector<std::size_t> send_for(Duration duration) {
    std::vector<std::size_t> sent;
    for (const Time end = now_ + duration;;) {
      now_ = std::max(now_ + 1us, source_.next_timeout());
      if (now_ >= end) return sent;
      sent.push_back(send());
    }
  }
  void pause(Duration duration) { now_ += duration; }

 private:
  static SourceConfig config(std::uint64_t rate) {
    SourceConfig config{.offer = ChannelPair::unsigned_offer()};
    config.offer.max_rate = rate;
    return config;
  }

  SeededRandom random_{5};
  NoAuthenticator authenticator_;
  ChannelSource source_;
  StreamId group_;
  std::vector<std::uint8_t> content_ = std::vector<std::uint8_t>(100'000);
  Time now_ = k_pair_start;
};

// 32 packets, or 4 ms of the rate
TEST(SourcePace, AfterAPauseABurstLeavesAtOnce) {
  for (const auto& [rate, burst] :
       {std::pair{k_slow, 32 * k_packet}, std::pair<std::uint64_t, std::size_t>{k_fast, 500'000}}) {
    BusySource source(rate);
    for (int i = 0; i < 2; ++i) {
      const std::size_t sent = source.send();
      EXPECT_GE(sent, burst);
      EXPECT_LE(sent, burst + 2 * k_packet);
      EXPECT_EQ(source.send(), 0u) << "again at once";
      // A longer pause earns no larger burst.
      source.pause(i == 0 ? 1s : 0s);
    }
  }
}

TEST(SourcePace, AFastSourceSendsOnceAMillisecond) {
  BusySource source(k_fast);
  source.send();
  const auto sent = source.send_for(100ms);
  EXPECT_NEAR(static_cast<double>(sent.size()), 100, 5);
  std::size_t total = 0;
  for (const std::size_t bytes : sent) {
    EXPECT_LE(bytes, k_fast / 1000 + 2 * k_packet);
    total += bytes;
  }
  EXPECT_NEAR(static_cast<double>(total), k_fast / 10.0, k_fast / 500.0);
}

TEST(SourcePace, ASlowSourceSendsPacketByPacket) {
  BusySource source(k_slow);
  source.send();
  const auto sent = source.send_for(100ms);
  EXPECT_NEAR(static_cast<double>(sent.size()), k_slow / 10.0 / k_packet, 5);
  for (const std::size_t bytes : sent) EXPECT_LE(bytes, 2 * k_packet);
}

// A source whose publisher pauses in the middle of a group
class PausedGroup {
 public:
  void publish(bool last) {
    const std::size_t bytes = 5000;
    EXPECT_EQ(pair_.source.write(group_, pattern_from(published_, bytes), last).bytes, bytes);
    published_ += bytes;
  }
  // Lets time pass. The group brings all but the last packet of what is sent at once, when that is
  // lost.
  void pass(Duration time, bool loses_last = false) {
    for (const Time end = pair_.now + time; pair_.now < end; pair_.now += 10ms) {
      pair_.source.on_timeout(pair_.now);
      pair_.give_keys();
      auto packets = pair_.packets();
      if (loses_last) packets.pop_back();
      loses_last = false;
      for (const auto& packet : packets) receive(packet, ChannelWay::kGroup);
      for (Bytes copy; !(copy = pair_.source.poll_copy(pair_.id, pair_.now)).empty();) {
        receive(copy, ChannelWay::kSource);
      }
      pair_.receiver.on_timeout(pair_.now);
      pair_.say();
    }
    read();
  }
  const ReceiverCounts& counts() const { return pair_.receiver.counts(); }
  std::uint64_t published() const { return published_; }
  std::uint64_t got() const { return read_; }
  bool ended() const { return ended_; }

 private:
  void receive(Bytes packet, ChannelWay way) { pair_.receiver.receive(packet, way, pair_.now); }
  void read() {
    GroupStreams& groups = pair_.receiver.groups();
    while (const auto event = groups.poll_event()) {
      EXPECT_NE(event->kind, GroupEvent::Kind::kExpired);
      for (Bytes bytes; !(bytes = groups.peek(event->group)).empty();) {
        EXPECT_TRUE(matches_pattern(bytes, read_));
        read_ += bytes.size();
        groups.consume(event->group, bytes.size());
      }
      if (event->kind == GroupEvent::Kind::kEnded) ended_ = true;
    }
  }

  ChannelPair pair_;
  StreamId group_ = *pair_.source.open_group();
  std::uint64_t published_ = 0;
  std::uint64_t read_ = 0;
  bool ended_ = false;
};

// The deadline is 350 ms.
TEST(SourcePace, AGroupGoesOnAfterAPauseOfItsPublisher) {
  PausedGroup group;
  group.publish(false);
  group.pass(2s);
  EXPECT_EQ(group.got(), group.published());
  EXPECT_FALSE(group.ended());
  group.publish(true);
  group.pass(10ms);
  EXPECT_EQ(group.got(), group.published());
  EXPECT_TRUE(group.ended());
  EXPECT_EQ(group.counts().lost, 0u);
}

TEST(SourcePace, WhatIsLostBeforeAPauseComesInTime) {
  PausedGroup group;
  group.publish(false);
  group.pass(200ms);  // the group is heard, and copies end
  group.publish(false);
  group.pass(10ms, true);
  EXPECT_LT(group.got(), group.published());
  group.pass(300ms);
  EXPECT_EQ(group.got(), group.published());
  EXPECT_EQ(group.counts().lost, 1u);
  EXPECT_EQ(group.counts().expired, 0u);
}

}  // namespace
}  // namespace sheaf::quic
