#include <gtest/gtest.h>

#include "channel_authentication/channel_world.h"
#include "channel_authentication/flight_source.h"
#include "channel_authentication/flight_verifier.h"
#include "channel_authentication/receiver_tags.h"
#include "channel_authentication/timed_source.h"
#include "channel_authentication/timed_verifier.h"
#include "stream/allocation_counter.h"

namespace sheaf::quic {
namespace {

// Sends 100 packets through both sides, with memory that is there before. Returns how many were
// proven.
class SteadyChannel {
 public:
  SteadyChannel(Authenticator& source, Verifier& member) : source_(source), member_(member) {
    for (int i = 0; i < 100; ++i)
      packets_.push_back(random_packet(0, random_, source.trailer_length()));
    frame_.resize(1200);
  }

  std::size_t turn() {
    for (TestPacket& packet : packets_) {
      packet.number = next_++;
      const SealedPacket sealed = packet.sealed();
      source_.add({&sealed, 1}, now_);
      member_.on_packet(packet.received(), now_);
    }
    now_ += 50ms;
    source_.on_timeout(now_);
    while (const std::size_t length = source_.write_frame(frame_, now_)) {
      Reader reader(Bytes(frame_).first(length));
      member_.on_frame(*decode_integrity_frame(reader), FrameOrigin::kChannel, now_);
    }
    std::size_t proven = 0;
    while (member_.next_proven()) ++proven;
    return proven;
  }

 private:
  Authenticator& source_;
  Verifier& member_;
  SeededRandom random_{61};
  std::vector<TestPacket> packets_;
  std::vector<std::uint8_t> frame_;
  PacketNumber next_ = 0;
  Time now_ = k_auth_start;
};

void expect_no_allocation(Authenticator& source, Verifier& member) {
  SteadyChannel channel(source, member);
  for (int i = 0; i < 300; ++i) channel.turn();
  const std::size_t before = allocation_count();
  std::size_t proven = 0;
  for (int i = 0; i < 50; ++i) proven += channel.turn();
  EXPECT_EQ(allocation_count() - before, 0u);
  EXPECT_GE(proven, 4900u);
}

TEST(ChannelAllocation, SignedFlightsNeedNone) {
  SeededRandom random{62};
  const SigningKey key(test_seed(1));
  InlineRunner runner;
  FlightSource source({.channel = k_test_channel}, key, runner);
  FlightVerifier member({.channel = k_test_channel}, key.public_key(), runner, random);
  expect_no_allocation(source, member);
}

// Forged packets at many numbers, flights that nobody signed, lists that fit none, and the
// source's flights in between
TEST(ChannelAllocation, WhatMembersSendTakesNoMoreThanItsBound) {
  constexpr std::uint64_t k_seed = 65;
  SCOPED_TRACE("seed " + std::to_string(k_seed));
  SeededRandom random{k_seed};
  const SigningKey key(test_seed(1));
  InlineRunner runner;
  FlightSource source({.channel = k_test_channel, .copies = 1}, key, runner);
  std::size_t allocated = 0;
  const auto measured = [&](auto&& call) {
    const std::size_t before = allocated_bytes();
    call();
    allocated += allocated_bytes() - before;
  };
  std::unique_ptr<FlightVerifier> member;
  measured([&] {
    member = std::make_unique<FlightVerifier>(FlightVerifierConfig{.channel = k_test_channel},
                                              key.public_key(), runner, random);
  });
  std::vector<std::uint8_t> noise(80 * 16);
  Time now = k_auth_start;
  std::size_t proven = 0;
  for (PacketNumber first = 0; first < 20'000; first += 100) {
    const auto sent = send_packets(source, first, 100, random, now);
    now += 30ms;
    source.on_timeout(now);
    const auto frames = frames_of(source, now);
    random.fill(noise);
    const Bytes hashes(noise);
    const TestPacket forged = random_packet(first + random.below(4000), random, 0, 1400);
    measured([&] {
      for (const TestPacket& packet : sent) member->on_packet(packet.received(), now);
      for (PacketNumber i = 0; i < 30; ++i) {
        ReceivedPacket packet = forged.received();
        packet.number += i;
        member->on_packet(packet, now);
      }
      member->on_frame(ListFrame{.first = first + 7, .hashes = hashes}, FrameOrigin::kChannel, now);
      member->on_frame(FlightFrame{.first = first,
                                   .count = 80,
                                   .hashes = hashes,
                                   .signature = hashes.first(k_signature_length)},
                       FrameOrigin::kChannel, now);
    });
    for (const auto& frame : frames) {
      const IntegrityFrame genuine = decoded(frame);
      measured([&] { member->on_frame(genuine, FrameOrigin::kChannel, now); });
    }
    measured([&] {
      while (member->next_proven()) ++proven;
    });
  }
  EXPECT_GT(proven, 15'000u);
  EXPECT_LE(allocated, CandidateStore::k_ordinary_bytes + (std::size_t{2} << 20));
}

TEST(ChannelAllocation, TimedPacketsNeedNone) {
  SeededRandom random{63};
  KeyChain chain(k_test_channel, ChainKey{1});
  const TimedSchedule schedule{.start = k_auth_start, .interval = 50ms, .delay = 2};
  ClockBound clock;
  clock.on_answer(k_auth_start, k_auth_start);
  TimedSource source(k_test_channel, schedule, chain);
  TimedVerifier member(
      {.channel = k_test_channel, .schedule = schedule, .known_key = chain.commitment()}, clock,
      random);
  expect_no_allocation(source, member);
}

TEST(ChannelAllocation, TagsNeedNone) {
  SeededRandom random{64};
  ReceiverTagger source;
  for (std::uint8_t i = 0; i < 5; ++i) source.add_receiver(i, MacKey{i});
  TagVerifier member({.receiver = 3, .key = MacKey{3}}, random);
  expect_no_allocation(source, member);
}

}  // namespace
}  // namespace sheaf::quic
