#include <gtest/gtest.h>

#include <algorithm>

#include "channel_authentication/channel_world.h"
#include "channel_authentication/flight_source.h"
#include "channel_authentication/flight_verifier.h"
#include "channel_authentication/helper_thread.h"

namespace sheaf::quic {
namespace {

using Frames = std::vector<std::vector<std::uint8_t>>;

std::ptrdiff_t flights_in(const Frames& frames) {
  return std::ranges::count_if(frames, [](const std::vector<std::uint8_t>& frame) {
    return std::holds_alternative<FlightFrame>(decoded(frame));
  });
}

// A source and a member with the scheme `signed`, all on one thread
struct FlightWorld {
  explicit FlightWorld(FlightConfig source_config = {}, FlightVerifierConfig member_config = {})
      : config(with_channel(source_config)),
        source(config, key, runner),
        member(with_channel(member_config), key.public_key(), runner, random) {}

  template <typename Config>
  static Config with_channel(Config config) {
    config.channel = k_test_channel;
    return config;
  }
  // Ends the present flight. Returns its frames, once each.
  Frames finish() {
    now += config.max_delay;
    source.on_timeout(now);
    return frames_of(source, now);
  }
  Verdict receive(const TestPacket& packet) { return member.on_packet(packet.received(), now); }

  SeededRandom random{11};
  SigningKey key{test_seed(1)};
  InlineRunner runner;
  FlightConfig config;
  FlightSource source;
  FlightVerifier member;
  Time now = k_auth_start;
};

TEST(Flight, ProvesPacketsOnceItIsSigned) {
  for (std::uint8_t hash_length : {std::uint8_t{16}, std::uint8_t{32}}) {
    FlightWorld world({.hash_length = hash_length});
    const auto sent = send_packets(world.source, 100, 20, world.random, world.now);
    for (const auto& packet : sent) EXPECT_EQ(world.receive(packet), Verdict::kWaiting);
    EXPECT_TRUE(frames_of(world.source, world.now).empty()) << "the flight is open";
    EXPECT_EQ(world.source.next_timeout(), world.now + 30ms);
    EXPECT_FALSE(world.member.next_proven());
    const Frames frames = world.finish();
    ASSERT_EQ(frames.size(), 1u);
    give(world.member, frames, world.now);
    EXPECT_EQ(proven_numbers(world.member, sent), numbers_from(100, 20));
    EXPECT_EQ(world.member.next_timeout(), k_never) << "nothing waits";
  }
}

TEST(Flight, OneSignatureCoversThousandsOfPackets) {
  FlightWorld world({.max_packets = 3000});
  const auto sent = send_packets(world.source, 5, 2500, world.random, world.now);
  for (const auto& packet : sent) ASSERT_EQ(world.receive(packet), Verdict::kWaiting);
  const Frames frames = world.finish();
  EXPECT_EQ(flights_in(frames), 1);
  EXPECT_GT(frames.size(), 2500u / 80);
  give(world.member, frames, world.now);
  EXPECT_EQ(proven_numbers(world.member, sent), numbers_from(5, 2500));
}

TEST(Flight, EndsWhenItIsFull) {
  FlightWorld world({.max_packets = 64});
  const auto sent = send_packets(world.source, 0, 200, world.random, world.now);
  for (const auto& packet : sent) world.receive(packet);
  const Frames frames = frames_of(world.source, world.now);
  EXPECT_EQ(flights_in(frames), 3);
  give(world.member, frames, world.now);
  EXPECT_EQ(proven_numbers(world.member, sent), numbers_from(0, 192));
  give(world.member, world.finish(), world.now);
  EXPECT_EQ(proven_numbers(world.member, sent), numbers_from(192, 8));
}

TEST(Flight, FramesComeTwice) {
  FlightWorld world;
  const auto sent = send_packets(world.source, 0, 300, world.random, world.now);
  for (const auto& packet : sent) world.receive(packet);
  const Frames first = world.finish();
  const Time due = world.source.next_timeout();
  EXPECT_EQ(due, world.now + 20ms);
  EXPECT_TRUE(frames_of(world.source, due - 1ns).empty());
  const Frames second = frames_of(world.source, due);
  EXPECT_EQ(first, second);
  EXPECT_EQ(world.source.next_timeout(), k_never);
  // Of the first copies every other is lost, of the second all those that were there before.
  for (std::size_t i = 0; i < first.size(); i += 2) give(world.member, {first[i]}, world.now);
  const std::size_t waiting = 300 - proven_numbers(world.member, sent).size();
  EXPECT_GT(waiting, 0u);
  for (std::size_t i = 1; i < second.size(); i += 2) give(world.member, {second[i]}, due);
  EXPECT_EQ(proven_numbers(world.member, sent).size(), waiting);
}

TEST(Flight, ListsMayComeBeforeTheirFlightAndPacketsAfterIt) {
  FlightWorld world;
  const auto sent = send_packets(world.source, 0, 300, world.random, world.now);
  for (std::size_t i = 0; i < 250; ++i) world.receive(sent[i]);
  Frames frames = world.finish();
  std::ranges::reverse(frames);
  give(world.member, frames, world.now);
  EXPECT_EQ(proven_numbers(world.member, sent).size(), 250u);
  for (std::size_t i = 250; i < 300; ++i) EXPECT_EQ(world.receive(sent[i]), Verdict::kProven);
  TestPacket forged = sent[250];
  forged.datagram[3] ^= 1;
  EXPECT_EQ(world.receive(forged), Verdict::kForged);
}

TEST(Flight, ProofsAloneAskForNoProof) {
  FlightWorld world;
  auto packet = random_packet(0, world.random);
  SealedPacket sealed = packet.sealed();
  sealed.proofs_only = true;
  world.source.add({&sealed, 1}, world.now);
  EXPECT_EQ(world.source.next_timeout(), k_never);
  const auto sent = send_packets(world.source, 1, 1, world.random, world.now);
  EXPECT_EQ(world.source.next_timeout(), world.now + 30ms);
  world.receive(packet);
  world.receive(sent[0]);
  give(world.member, world.finish(), world.now);
  std::vector<TestPacket> all{packet, sent[0]};
  EXPECT_EQ(proven_numbers(world.member, all), numbers_from(0, 2));
}

TEST(Flight, KnowsWhichBytesItStillReads) {
  FlightWorld world;
  EXPECT_EQ(world.source.reads_from(), k_no_packet_number);
  const auto sent = send_packets(world.source, 40, 10, world.random, world.now);
  EXPECT_EQ(world.source.reads_from(), 40u);
  world.finish();
  EXPECT_EQ(world.source.reads_from(), k_no_packet_number);
}

// A member knows the key that seals packets, and forges some for each number, before and after the
// genuine one.
TEST(Flight, ForgedPacketsAreDropped) {
  FlightWorld world;
  const auto sent = send_packets(world.source, 0, 100, world.random, world.now);
  for (const auto& packet : sent) {
    TestPacket forged = packet;
    forged.datagram[world.random.below(200)] ^= 0x10;
    world.receive(forged);
    world.receive(packet);
    forged.datagram[0] ^= 0x01;
    world.receive(forged);
  }
  give(world.member, world.finish(), world.now);
  EXPECT_EQ(proven_numbers(world.member, sent), numbers_from(0, 100));
  EXPECT_EQ(world.member.counts().forged_packets, 200u);
  EXPECT_EQ(world.member.next_timeout(), k_never) << "nothing waits";
}

TEST(Flight, SwappedNumbersAndKeysAreForgeries) {
  FlightWorld world;
  const auto sent = send_packets(world.source, 0, 4, world.random, world.now);
  TestPacket swapped = sent[0];
  swapped.number = 1;
  world.receive(swapped);
  swapped = sent[1];
  swapped.number = 0;
  world.receive(swapped);
  TestPacket other_key = sent[2];
  other_key.key_sequence = 1;
  world.receive(other_key);
  world.receive(sent[3]);
  give(world.member, world.finish(), world.now);
  EXPECT_EQ(proven_numbers(world.member, sent), numbers_from(3, 1));
  EXPECT_EQ(world.member.counts().forged_packets, 3u);
}

TEST(Flight, EndsWithItsKey) {
  FlightWorld world;
  auto sent = send_packets(world.source, 0, 3, world.random, world.now);
  for (PacketNumber number = 3; number < 6; ++number) {
    sent.push_back(random_packet(number, world.random));
    sent.back().key_sequence = 1;
  }
  for (std::size_t i = 3; i < 6; ++i) {
    const SealedPacket sealed = sent[i].sealed();
    world.source.add({&sealed, 1}, world.now);
  }
  for (const auto& packet : sent) world.receive(packet);
  const Frames first = frames_of(world.source, world.now);
  EXPECT_EQ(flights_in(first), 1);
  give(world.member, first, world.now);
  EXPECT_EQ(proven_numbers(world.member, sent), numbers_from(0, 3));
  give(world.member, world.finish(), world.now);
  EXPECT_EQ(proven_numbers(world.member, sent), numbers_from(3, 3));
}

TEST(Flight, EveryChangedBitOfAFrameIsNoticed) {
  FlightWorld world({}, {.checks_per_second = 1e9, .checks_at_once = 1e9});
  const auto sent = send_packets(world.source, 0, 3, world.random, world.now);
  for (const auto& packet : sent) world.receive(packet);
  const auto frame = world.finish()[0];
  for (std::size_t bit = 0; bit < frame.size() * 8; bit += 3) {
    auto changed = frame;
    changed[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    Reader reader(changed);
    if (const auto read = decode_integrity_frame(reader)) {
      world.member.on_frame(*read, FrameOrigin::kChannel, world.now);
    }
    ASSERT_FALSE(world.member.next_proven()) << "bit " << bit;
  }
  EXPECT_GT(world.member.counts().forged_frames, 100u);
  give(world.member, {frame}, world.now);
  EXPECT_EQ(proven_numbers(world.member, sent).size(), 3u);
}

TEST(Flight, SignaturesOfOthersAndOfOtherChannelsProveNothing) {
  FlightWorld world;
  const auto sent = send_packets(world.source, 0, 10, world.random, world.now);
  for (const auto& packet : sent) world.receive(packet);

  const SigningKey forger_key(test_seed(2));
  FlightConfig other_channel = world.config;
  other_channel.channel[0] ^= 1;
  FlightSource forger(world.config, forger_key, world.runner);
  FlightSource elsewhere(other_channel, world.key, world.runner);
  for (FlightSource* source : {&forger, &elsewhere}) {
    for (auto packet : sent) {
      const SealedPacket sealed = packet.sealed();
      source->add({&sealed, 1}, world.now);
      source->on_timeout(world.now + 1s);  // each packet in a flight of its own
    }
    give(world.member, frames_of(*source, world.now + 1s), world.now);
  }
  EXPECT_TRUE(proven_numbers(world.member, sent).empty());
  EXPECT_GT(world.member.counts().forged_frames, 0u);
}

TEST(Flight, ListsOfAnotherFlightOrPlaceAreForgeries) {
  FlightWorld world;
  const auto sent = send_packets(world.source, 0, 300, world.random, world.now);
  for (const auto& packet : sent) world.receive(packet);
  const Frames frames = world.finish();
  give(world.member, {frames[0]}, world.now);
  auto list = std::get<ListFrame>(decoded(frames[1]));
  const auto second = std::get<ListFrame>(decoded(frames[2]));
  list.first = second.first;  // the hashes of the first list, for the packets of the second
  world.member.on_frame(list, FrameOrigin::kChannel, world.now);
  EXPECT_EQ(world.member.counts().forged_frames, 1u);
  EXPECT_FALSE(world.member.next_proven());
  give(world.member, frames, world.now);
  EXPECT_EQ(proven_numbers(world.member, sent), numbers_from(0, 300));
}

TEST(Flight, ReplayedFlightsCostNoSignature) {
  FlightWorld world({}, {.checks_per_second = 0, .checks_at_once = 3});
  std::vector<Frames> flights;
  std::vector<TestPacket> all;
  for (PacketNumber first = 0; first < 30; first += 10) {
    for (auto& packet : send_packets(world.source, first, 10, world.random, world.now)) {
      world.receive(packet);
      all.push_back(std::move(packet));
    }
    flights.push_back(world.finish());
    give(world.member, flights.back(), world.now);
  }
  for (int i = 0; i < 100; ++i) {
    for (const Frames& frames : flights) give(world.member, frames, world.now);
  }
  EXPECT_EQ(world.member.counts().refused_frames, 0u);
  EXPECT_EQ(proven_numbers(world.member, all), numbers_from(0, 30));
}

// Bogus signatures use up the checks of a second. What the connection brings is checked all the
// same.
TEST(Flight, BogusSignaturesAreLimited) {
  FlightWorld world({}, {.checks_per_second = 10, .checks_at_once = 5});
  const auto sent = send_packets(world.source, 0, 5, world.random, world.now);
  for (const auto& packet : sent) world.receive(packet);
  const Frames frames = world.finish();
  for (std::uint8_t i = 0; i < 100; ++i) {
    auto bogus = frames[0];
    bogus.back() ^= static_cast<std::uint8_t>(i + 1);
    give(world.member, {bogus}, world.now);
  }
  EXPECT_EQ(world.member.counts().forged_frames, 5u);
  EXPECT_EQ(world.member.counts().refused_frames, 95u);
  give(world.member, frames, world.now);
  EXPECT_FALSE(world.member.next_proven());
  give(world.member, frames, world.now, FrameOrigin::kConnection);
  EXPECT_EQ(proven_numbers(world.member, sent).size(), 5u);
}

TEST(Flight, PacketsWithoutAFlightAreDropped) {
  FlightWorld world;
  const auto sent = send_packets(world.source, 0, 10, world.random, world.now);
  for (const auto& packet : sent) world.receive(packet);
  EXPECT_EQ(world.member.next_timeout(), world.now + 500ms);
  world.member.on_timeout(world.now + 501ms);
  EXPECT_EQ(world.member.next_timeout(), k_never) << "nothing waits";
  EXPECT_EQ(world.member.counts().evicted_packets, 10u);
  EXPECT_EQ(world.member.next_timeout(), k_never);
}

// Keeps jobs until they are run: a helper that is behind.
class HeldRunner final : public JobRunner {
 public:
  void submit(Job& job) override { held_.push_back(&job); }
  void wait(const Job&) override { run_all(); }
  void run_all() {
    for (Job* job : held_) job->run();
    held_.clear();
  }

 private:
  std::vector<Job*> held_;
};

TEST(Flight, BogusFlightsOfTheChannelLeaveAPlaceForTheConnection) {
  SeededRandom random{18};
  const SigningKey key(test_seed(1));
  InlineRunner at_once;
  FlightSource source({.channel = k_test_channel}, key, at_once);
  HeldRunner held;
  FlightVerifier member({.channel = k_test_channel}, key.public_key(), held, random);
  const auto sent = send_packets(source, 0, 3, random, k_auth_start);
  for (const auto& packet : sent) member.on_packet(packet.received(), k_auth_start);
  source.on_timeout(k_auth_start + 30ms);
  const auto frames = frames_of(source, k_auth_start + 30ms);
  ASSERT_FALSE(frames.empty());

  // One with the signature and the first number of the genuine flight is no copy of it.
  const IntegrityFrame genuine = decoded(frames[0]);
  FlightFrame bogus = std::get<FlightFrame>(genuine);
  bogus.key_sequence = 9;
  for (PacketNumber first : {0, 100, 200, 300, 400, 500, 600, 700}) {
    bogus.first = first;
    member.on_frame(bogus, FrameOrigin::kChannel, k_auth_start + 30ms);
  }
  EXPECT_EQ(member.counts().refused_frames, 2u);
  member.on_frame(genuine, FrameOrigin::kConnection, k_auth_start + 30ms);
  EXPECT_EQ(member.counts().refused_frames, 2u);
  held.run_all();
  EXPECT_TRUE(proven_numbers(member, sent).empty());
  held.run_all();
  EXPECT_EQ(proven_numbers(member, sent), numbers_from(0, 3));
}

TEST(Flight, AFlightThatNobodyFetchedIsCounted) {
  FlightWorld world({.max_packets = 64});
  const auto sent = send_packets(world.source, 0, 64 * 4, world.random, world.now);
  EXPECT_EQ(world.source.dropped_proofs(), 0u);
  const auto more = send_packets(world.source, 256, 64, world.random, world.now);
  EXPECT_EQ(world.source.dropped_proofs(), 1u);
  EXPECT_EQ(flights_in(frames_of(world.source, world.now)), 4);
}

TEST(Flight, LooksForTheHelpersResultSoon) {
  SeededRandom random{19};
  const SigningKey key(test_seed(1));
  HeldRunner held;
  FlightSource source({.channel = k_test_channel}, key, held);
  FlightVerifier member({.channel = k_test_channel}, key.public_key(), held, random);
  Time now = k_auth_start;
  const auto sent = send_packets(source, 0, 3, random, now);
  for (const auto& packet : sent) member.on_packet(packet.received(), now);
  now += 30ms;
  source.on_timeout(now);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(source.next_timeout(), now + 1ms);
    now += 1ms;
    source.on_timeout(now);
    EXPECT_TRUE(frames_of(source, now).empty());
  }
  held.run_all();
  EXPECT_LE(source.next_timeout(), now);
  give(member, frames_of(source, now), now);
  EXPECT_EQ(member.next_timeout(), now + 1ms) << "the signature is being checked";
  now += 1ms;
  held.run_all();
  member.on_timeout(now);
  EXPECT_EQ(member.next_timeout(), now + 1ms) << "packets are being hashed";
  held.run_all();
  EXPECT_EQ(proven_numbers(member, sent), numbers_from(0, 3));
  EXPECT_EQ(member.next_timeout(), k_never);
}

// Everything that can be lost, repeated or reordered is. Nothing forged is proven, and nothing
// genuine is lost whose list came.
TEST(Flight, SurvivesALossyNetwork) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random{seed};
    FlightWorld world(
        {.hash_length = seed % 2 == 0 ? std::uint8_t{16} : std::uint8_t{32}, .max_packets = 700});
    std::vector<TestPacket> all;
    std::size_t arrived = 0;
    std::vector<PacketNumber> proven;
    for (int flight = 0; flight < 6; ++flight) {
      const auto sent =
          send_packets(world.source, all.size(), 1 + random.below(900), random, world.now);
      for (const auto& packet : sent) {
        all.push_back(packet);
        if (random.below(10) == 0) continue;
        ++arrived;
        TestPacket forged = packet;
        forged.datagram[random.below(200)] ^= 4;
        if (random.below(3) == 0) world.receive(forged);
        world.receive(packet);
        if (random.below(5) == 0) world.receive(packet);
      }
      Frames frames = world.finish();
      const Frames copies = frames_of(world.source, world.now + 20ms);
      frames.insert(frames.end(), copies.begin(), copies.end());
      for (std::size_t i = frames.size(); i > 1; --i) {
        std::swap(frames[i - 1], frames[random.below(i)]);
      }
      give(world.member, frames, world.now);
      const auto fresh = proven_numbers(world.member, all);
      proven.insert(proven.end(), fresh.begin(), fresh.end());
    }
    EXPECT_EQ(std::ranges::count(proven, k_no_packet_number), 0);
    EXPECT_EQ(proven.size(), arrived);
  }
}

TEST(Flight, AHelperThreadComesToTheSameResult) {
  SeededRandom random{21};
  const SigningKey key(test_seed(1));
  HelperThread helper;
  FlightConfig config{.max_packets = 500, .copies = 1};
  config.channel = k_test_channel;
  FlightVerifierConfig member_config;
  member_config.channel = k_test_channel;
  FlightSource source(config, key, helper);
  FlightVerifier member(member_config, key.public_key(), helper, random);
  const auto sent = send_packets(source, 0, 2000, random, k_auth_start);
  for (const auto& packet : sent) {
    ASSERT_EQ(member.on_packet(packet.received(), k_auth_start), Verdict::kWaiting);
  }
  std::vector<PacketNumber> proven;
  while (proven.size() < 2000) {
    give(member, frames_of(source, k_auth_start), k_auth_start);
    const auto fresh = proven_numbers(member, sent);
    proven.insert(proven.end(), fresh.begin(), fresh.end());
    std::this_thread::yield();
  }
  std::ranges::sort(proven);
  EXPECT_EQ(proven, numbers_from(0, 2000));
}

TEST(Flight, EndsCleanlyWhileTheHelperWorks) {
  for (int round = 0; round < 20; ++round) {
    SeededRandom random{22};
    const SigningKey key(test_seed(1));
    HelperThread helper;
    FlightConfig config{.max_packets = 100};
    config.channel = k_test_channel;
    std::vector<TestPacket> sent;
    FlightSource source(config, key, helper);
    sent = send_packets(source, 0, 350, random, k_auth_start);
    FlightVerifierConfig member_config;
    member_config.channel = k_test_channel;
    FlightVerifier member(member_config, key.public_key(), helper, random);
    for (const auto& packet : sent) member.on_packet(packet.received(), k_auth_start);
    give(member, frames_of(source, k_auth_start), k_auth_start);
  }
}

}  // namespace
}  // namespace sheaf::quic
