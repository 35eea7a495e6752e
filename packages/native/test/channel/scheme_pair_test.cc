#include <gtest/gtest.h>

#include "channel/pair.h"
#include "channel_authentication/timed_source.h"
#include "channel_authentication/timed_verifier.h"

namespace sheaf::quic {
namespace {

// Source and receiver with the scheme `timed`, whose clocks agree
struct TimedPair {
  TimedPair() { clock.on_answer(k_pair_start, k_pair_start); }

  // Discloses keys that are due after a time, and lets the receiver take what waits.
  void disclose_after(Duration time) {
    pair.now += time;
    std::array<std::uint8_t, 1200> bytes;
    while (const std::size_t length = source.write_frame(bytes, pair.now)) {
      Reader in(Bytes(bytes).first(length));
      verifier.on_frame(*decode_integrity_frame(in), FrameOrigin::kChannel, pair.now);
    }
    pair.receiver.on_timeout(pair.now);
  }

  SeededRandom random{21};
  TimedSchedule schedule{.start = k_pair_start, .interval = 50ms, .delay = 2};
  KeyChain chain{k_test_channel, ChainKey{4}, 1000};
  ClockBound clock;
  TimedSource source{k_test_channel, schedule, chain};
  TimedVerifier verifier{
      {.channel = k_test_channel, .schedule = schedule, .known_key = chain.commitment()},
      clock,
      random};
  ChannelPair pair{source, verifier};
};

TEST(TimedPair, OpensPacketsOnceTheirKeyIsDisclosed) {
  TimedPair timed;
  const auto sent = timed.pair.publish(5000);
  for (const auto& packet : sent) {
    timed.pair.receiver.receive(packet, ChannelWay::kGroup, timed.pair.now);
  }
  EXPECT_EQ(timed.pair.receiver.counts().from_group, 0u);
  timed.disclose_after(100ms);
  EXPECT_EQ(timed.pair.receiver.counts().from_group, sent.size());
  EXPECT_EQ(timed.pair.receiver.counts().forged, 0u);
  EXPECT_EQ(timed.pair.receiver.groups().poll_event()->kind, GroupEvent::Kind::kReadable);
  // What comes again is known without its trailer.
  timed.pair.receiver.receive(sent[1], ChannelWay::kGroup, timed.pair.now);
  EXPECT_EQ(timed.pair.receiver.counts().duplicates, 1u);
}

TEST(TimedPair, OpensTheShortestPacket) {
  TimedPair timed;
  timed.pair.source.poll_transmit(1, timed.pair.now);
  timed.pair.now += 100ms;
  timed.pair.source.on_timeout(timed.pair.now);
  const auto sent = timed.pair.packets();
  ASSERT_EQ(sent.size(), 1u);
  timed.pair.receiver.receive(sent[0], ChannelWay::kGroup, timed.pair.now);
  timed.disclose_after(100ms);
  EXPECT_EQ(timed.pair.receiver.counts().from_group, 1u);
}

TEST(TimedPair, APacketThatTheGroupBringsAsWellIsOfTheGroup) {
  TimedPair timed;
  const auto sent = timed.pair.publish(1000);
  timed.pair.receiver.receive(sent[0], ChannelWay::kUnicast, timed.pair.now);
  timed.pair.receiver.receive(sent[0], ChannelWay::kGroup, timed.pair.now);
  auto forged = sent[0];
  forged[30] ^= 1;
  timed.pair.receiver.receive(forged, ChannelWay::kUnicast, timed.pair.now);
  timed.disclose_after(100ms);
  EXPECT_EQ(timed.pair.receiver.counts().from_group, 1u);
  EXPECT_EQ(timed.pair.receiver.state(), ListenState::kReceiving);
}

TEST(TimedPair, WhatCannotBeProvenAnyMoreIsNotCalledForged) {
  TimedPair timed;
  const auto sent = timed.pair.publish(1000);
  timed.pair.now += 100ms;
  timed.pair.receiver.receive(sent[0], ChannelWay::kGroup, timed.pair.now);
  EXPECT_EQ(timed.pair.receiver.counts().refused, 1u);
  EXPECT_EQ(timed.pair.receiver.counts().forged, 0u);
}

TEST(TimedPair, WaitingPacketsGoAtTheTimeThatIsNamed) {
  TimedPair timed;
  timed.pair.receiver.receive(timed.pair.publish(1000)[0], ChannelWay::kGroup, timed.pair.now);
  const Time due = timed.verifier.next_timeout();
  EXPECT_EQ(due, timed.pair.now + 2s);
  timed.verifier.on_timeout(due);
  EXPECT_EQ(timed.verifier.next_timeout(), k_never);
}

}  // namespace
}  // namespace sheaf::quic
