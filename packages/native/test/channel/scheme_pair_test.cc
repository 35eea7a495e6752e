#include <gtest/gtest.h>

#include "channel/pair.h"
#include "channel_authentication/flight_source.h"
#include "channel_authentication/flight_verifier.h"
#include "channel_authentication/helper_thread.h"
#include "channel_authentication/make_verifier.h"
#include "channel_authentication/packet_signatures.h"
#include "channel_authentication/timed_source.h"

namespace sheaf::quic {
namespace {

// Source and receiver with one of the schemes, whose clocks agree
class SchemePair {
 public:
  explicit SchemePair(AuthenticationScheme scheme)
      : authenticator_(make_authenticator(scheme)),
        verifier_(make_verifier(authenticator_->offer(k_pair_start), {k_test_channel, 1350, 1},
                                {runner_, clock_, random_})) {
    clock_.on_answer(k_pair_start, k_pair_start);
    pair_.emplace(*authenticator_, *verifier_);
  }

  ChannelPair* operator->() { return &*pair_; }
  void receive(Bytes packet, ChannelWay way = ChannelWay::kGroup) {
    pair_->receiver.receive(packet, way, pair_->now);
  }
  // Lets time pass on both sides. What the source sends meanwhile arrives.
  void run_for(Duration duration) {
    for (const Time end = pair_->now + duration; pair_->now < end;) {
      pair_->now += 1ms;
      pair_->source.on_timeout(pair_->now);
      for (const auto& packet : pair_->packets()) receive(packet);
      pair_->receiver.on_timeout(pair_->now);
      read();
    }
  }
  // Reads the first group. Returns how many bytes it had once it ended.
  std::optional<std::size_t> read_group() {
    read();
    return ended_ ? std::optional(size_) : std::nullopt;
  }

 private:
  void read() {
    GroupStreams& groups = pair_->receiver.groups();
    while (const auto event = groups.poll_event()) {
      for (Bytes bytes; !(bytes = groups.peek(event->group)).empty();) {
        EXPECT_TRUE(matches_pattern(bytes, size_));
        size_ += bytes.size();
        groups.consume(event->group, bytes.size());
      }
      if (event->kind == GroupEvent::Kind::kEnded) ended_ = true;
    }
  }
  std::unique_ptr<Authenticator> make_authenticator(AuthenticationScheme scheme) {
    switch (scheme) {
      case AuthenticationScheme::kNone:
        return std::make_unique<NoAuthenticator>();
      case AuthenticationScheme::kSigned:
        return std::make_unique<FlightSource>(FlightConfig{.channel = k_test_channel}, key_,
                                              runner_);
      case AuthenticationScheme::kTimed:
        return std::make_unique<TimedSource>(
            k_test_channel, TimedSchedule{.start = k_pair_start - 1s, .interval = 50ms, .delay = 2},
            chain_);
      case AuthenticationScheme::kPacketSignatures:
        return std::make_unique<PacketSigner>(k_test_channel, key_);
      case AuthenticationScheme::kUnnamed:
        break;
    }
    return nullptr;
  }
  SeededRandom random_{21};
  SigningKey key_{Ed25519Seed{3}};
  InlineRunner runner_;
  KeyChain chain_{k_test_channel, ChainKey{4}};
  ClockBound clock_;
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<Verifier> verifier_;
  std::optional<ChannelPair> pair_;
  std::size_t size_ = 0;
  bool ended_ = false;
};

class EveryScheme : public ::testing::TestWithParam<AuthenticationScheme> {
 protected:
  SchemePair pair{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Schemes, EveryScheme,
                         ::testing::Values(AuthenticationScheme::kNone,
                                           AuthenticationScheme::kSigned,
                                           AuthenticationScheme::kTimed,
                                           AuthenticationScheme::kPacketSignatures));

TEST_P(EveryScheme, DeliversWhatIsProven) {
  const auto sent = pair->publish(40'000);
  ASSERT_GE(sent.size(), 30u);
  for (const auto& packet : sent) pair.receive(packet);
  pair.run_for(400ms);
  EXPECT_EQ(pair.read_group(), 40'000u);
  const ReceiverCounts& counts = pair->receiver.counts();
  EXPECT_GE(counts.from_group, sent.size());
  EXPECT_EQ(counts.lost + counts.forged + counts.refused + counts.malformed + counts.unreadable,
            0u);
  EXPECT_EQ(pair->receiver.state(), ListenState::kReceiving);
  // What comes again is known without its trailer.
  const std::uint64_t duplicates = counts.duplicates;
  pair.receive(sent[1]);
  EXPECT_EQ(counts.duplicates, duplicates + 1);
}

TEST_P(EveryScheme, DeliversTheShortestPacket) {
  pair->source.poll_transmit(1, pair->now);
  pair.run_for(100ms);
  const std::uint64_t before = pair->receiver.counts().from_group;
  pair.run_for(200ms);
  EXPECT_GT(pair->receiver.counts().from_group, before);
  EXPECT_EQ(pair->receiver.counts().lost, 0u);
}

TEST_P(EveryScheme, DeliversNoChangedPacket) {
  const auto sent = pair->publish(8000);
  for (const auto& packet : sent) {
    for (const std::size_t at : {std::size_t{14}, packet.size() / 2, packet.size() - 1}) {
      auto forged = packet;
      forged[at] ^= 1;
      pair.receive(forged);
    }
  }
  pair.run_for(400ms);
  EXPECT_EQ(pair.read_group(), std::nullopt);
  // Some have lost the form of a packet.
  const ReceiverCounts& counts = pair->receiver.counts();
  EXPECT_GT(counts.forged + counts.unreadable, 0u);
  for (const auto& packet : sent) pair.receive(packet, ChannelWay::kSource);
  EXPECT_EQ(pair.read_group(), 8000u);
}

TEST_P(EveryScheme, CopiesOfTheSourceItselfNeedNoProof) {
  const auto sent = pair->publish(8000);
  pair->now += 10s;  // too late for any scheme
  for (const auto& packet : sent) pair.receive(packet, ChannelWay::kSource);
  EXPECT_EQ(pair.read_group(), 8000u);
  EXPECT_EQ(pair->receiver.counts().from_unicast, sent.size());
  EXPECT_EQ(pair->receiver.state(), ListenState::kJoined);
}

TEST_P(EveryScheme, APacketThatTheGroupBringsAsWellIsOfTheGroup) {
  const auto sent = pair->publish(1000);
  pair.receive(sent[0], ChannelWay::kUnicast);
  pair.receive(sent[0]);
  auto forged = sent[0];
  forged[30] ^= 1;
  pair.receive(forged, ChannelWay::kUnicast);
  pair->receiver.on_timeout(pair->now);
  pair.run_for(300ms);
  EXPECT_EQ(pair.read_group(), 1000u);
  EXPECT_EQ(pair->receiver.state(), ListenState::kReceiving);
}

// A copy that was proven by its connection waits in the verifier as well.
TEST_P(EveryScheme, TakesAPacketOnce) {
  const auto sent = pair->publish(1000);
  pair.receive(sent[0]);
  pair.receive(sent[0], ChannelWay::kSource);
  pair.run_for(300ms);
  EXPECT_EQ(pair.read_group(), 1000u);
  EXPECT_EQ(pair->receiver.counts().duplicates, 1u);
  EXPECT_EQ(pair->receiver.state(), ListenState::kReceiving);
}

// So who reads a socket knows at once that the source sends often. In a group that brings nothing
// proven, forged packets are not taken for those of the source.
TEST_P(EveryScheme, PacketsThatWaitAreTakenWhileTheGroupIsHeard) {
  const bool waits =
      GetParam() == AuthenticationScheme::kSigned || GetParam() == AuthenticationScheme::kTimed;
  const auto early = pair->publish(4000);
  for (const auto& packet : early) pair.receive(packet);
  EXPECT_EQ(pair->receiver.taken(), waits ? 0 : early.size());
  pair.run_for(400ms);
  ASSERT_EQ(pair->receiver.state(), ListenState::kReceiving);
  const std::uint64_t taken = pair->receiver.taken();
  const std::uint64_t from_group = pair->receiver.counts().from_group;
  const auto sent = pair->publish(20'000);
  for (const auto& packet : sent) pair.receive(packet);
  for (const auto& packet : sent) pair.receive(packet);  // counts once
  EXPECT_EQ(pair->receiver.taken(), taken + sent.size());
  EXPECT_EQ(pair->receiver.counts().from_group, from_group + (waits ? 0 : sent.size()));
  for (const auto& packet : pair->publish(1000)) pair.receive(packet, ChannelWay::kSource);
  EXPECT_EQ(pair->receiver.taken(), taken + sent.size()) << "copies are not of the group";
}

TEST(TimedPair, WhatCannotBeProvenAnyMoreIsNotCalledForged) {
  SchemePair pair(AuthenticationScheme::kTimed);
  const auto sent = pair->publish(1000);
  pair->now += 100ms;
  pair.receive(sent[0]);
  pair.receive(sent[0], ChannelWay::kUnicast);
  EXPECT_EQ(pair->receiver.counts().refused, 2u);
  EXPECT_EQ(pair->receiver.counts().forged, 0u);
}

TEST(TimedPair, WaitingPacketsGoAtTheTimeThatIsNamed) {
  SchemePair pair(AuthenticationScheme::kTimed);
  pair.receive(pair->publish(1000)[0]);
  const Time due = pair->now + 2s;
  while (pair->receiver.next_timeout() < due) {
    const Time next = pair->receiver.next_timeout();
    pair->receiver.on_timeout(next);
    pair->receiver.poll_report(next);
  }
  EXPECT_EQ(pair->receiver.next_timeout(), due);
}

TEST(SignedPair, ProofsGoBeforePacketsThatWaitForTheRate) {
  SchemePair pair(AuthenticationScheme::kSigned);
  // More than half a second of the channel's rate, whose first flight ends after 30 ms
  const StreamId group = *pair->source.open_group();
  for (std::size_t at = 0; at < 800'000; at += 50'000) {
    ASSERT_EQ(pair->source.write(group, pattern_from(at, 50'000), at == 750'000).bytes, 50'000u);
  }
  pair.run_for(100ms);
  EXPECT_GT(pair->receiver.counts().from_group, 40u);
  EXPECT_LT(pair->source.counts().packets, 200u) << "most packets wait";
  pair.run_for(800ms);
  EXPECT_EQ(pair.read_group(), 800'000u);
}

struct EmptyJob final : Job {
  void work() override {}
};

// Signatures and hashes come from another thread, after the calls that ask for them.
TEST(SignedPair, AHelperThreadProvesAsWell) {
  SeededRandom random{2};
  const SigningKey key{Ed25519Seed{3}};
  HelperThread helper;
  FlightSource flights({.channel = k_test_channel}, key, helper);
  FlightVerifier verifier({.channel = k_test_channel}, key.public_key(), helper, random);
  ChannelPair pair(flights, verifier);
  const auto move = [&] {
    pair.source.on_timeout(pair.now);
    for (const auto& packet : pair.packets()) {
      pair.receiver.receive(packet, ChannelWay::kGroup, pair.now);
    }
    pair.receiver.on_timeout(pair.now);
    pair.say();
  };
  const StreamId group = *pair.source.open_group();
  pair.source.write(group, pattern_from(0, 40'000), true);
  // Time passes as source and receiver name it, and the group ends at last.
  std::size_t bytes = 0;
  for (bool ended = false; !ended;) {
    EmptyJob last;
    helper.submit(last);
    helper.wait(last);
    pair.now = std::max(pair.now + 1us,
                        std::min(pair.source.next_timeout(), pair.receiver.next_timeout()));
    move();
    while (const auto event = pair.receiver.groups().poll_event()) {
      ASSERT_NE(event->kind, GroupEvent::Kind::kExpired);
      for (Bytes next; !(next = pair.receiver.groups().peek(event->group)).empty();) {
        EXPECT_TRUE(matches_pattern(next, bytes));
        bytes += next.size();
        pair.receiver.groups().consume(event->group, next.size());
      }
      ended = event->kind == GroupEvent::Kind::kEnded;
    }
  }
  EXPECT_EQ(bytes, 40'000u);
}

TEST(SignedPair, AChannelWhosePacketsHaveNoRoomForItsProofsSendsNothing) {
  SeededRandom random{2};
  const SigningKey key{Ed25519Seed{3}};
  InlineRunner runner;
  for (const std::uint16_t packet_size : {std::uint16_t{1228}, std::uint16_t{1229}}) {
    FlightSource flights({.channel = k_test_channel}, key, runner);
    SourceConfig config{.offer = example_offer()};
    config.offer.packet_size = packet_size;
    ChannelSource source(config, flights, random);
    EXPECT_EQ(source.stopped(), packet_size < 1200 + 13 + 16);
  }
}

}  // namespace
}  // namespace sheaf::quic
