#include <gtest/gtest.h>

#include "channel/messages.h"
#include "channel/packet_format.h"
#include "channel/receiver.h"
#include "channel/source.h"
#include "channel_authentication/flight_source.h"
#include "channel_authentication/helper_thread.h"
#include "channel_authentication/timed_source.h"
#include "sim/pattern.h"

namespace sheaf::quic {
namespace {

constexpr Time k_start{1h};

SourceConfig proven_config() {
  SourceConfig config{.offer = example_offer()};
  config.offer.max_rate = 1'000'000'000;
  return config;
}

void publish(ChannelSource& source, std::size_t bytes) {
  EXPECT_TRUE(source.write(*source.open_group(), pattern_from(0, bytes), true).fin);
}

struct TimedChannel {
  SeededRandom random{6};
  KeyChain chain{k_test_channel, ChainKey{7}};
  TimedSource authenticator{
      k_test_channel, {.start = k_start, .interval = 50ms, .delay = 2}, chain};
  ChannelSource source{proven_config(), authenticator, random};
};

TEST(SourceKeys, ChangeLongBeforeAKeyIsExhausted) {
  constexpr std::uint64_t k_packets = (std::uint64_t{1} << 23) + 1;
  constexpr std::size_t k_length = k_channel_overhead + 3;
  SeededRandom random(3);
  SourceKeys keys(example_offer().header, {.interval = 1000h}, 0, random);
  std::vector<std::uint8_t> bytes(64 * k_length);
  for (PacketNumber number = 0; number < k_packets;) {
    keys.advance(k_start);
    std::array<SealJob, 64> jobs;
    const PacketNumber end = std::min<PacketNumber>(number + 64, keys.same_key_end(number));
    for (PacketNumber i = number; i < end; ++i) {
      Writer out(MutableBytes(bytes).subspan((i - number) * k_length, k_length));
      write_channel_header(out, k_test_channel, keys.key_phase(i), i);
      jobs[i - number] = {.packet = &bytes[(i - number) * k_length],
                          .payload_length = 3,
                          .header_length = k_channel_header_length,
                          .packet_number_length = k_channel_number_length,
                          .path = {},
                          .number = i};
    }
    ASSERT_TRUE(keys.seal(std::span(jobs).first(end - number))) << number;
    number = end;
  }
  EXPECT_EQ(keys.sequence_of(k_packets), 1u);
}

// At such a rate there are two proofs for each packet.
TEST(ChannelSource, ProofsLeavePacketsThatWaitInTheirPlace) {
  constexpr std::size_t k_bytes = 400'000;
  SeededRandom random(8);
  const SigningKey key(Ed25519Seed{5});
  InlineRunner runner;
  FlightSource authenticator({.channel = k_test_channel}, key, runner);
  SourceConfig config = proven_config();
  config.offer.max_rate = 40'000;
  config.offer.reach = 256;
  config.key_interval = 1h;
  ChannelSource source(config, authenticator, random);
  NoVerifier verifier;
  Time now = k_start;
  ChannelReceiver receiver(source.offer(), verifier, random, now);
  receiver.on_key(*source.poll_key(*source.add_receiver()), now);
  const StreamId group = *source.open_group();
  const std::vector<std::uint8_t> bytes(k_bytes, 7);
  std::size_t written = 0;
  std::size_t read = 0;
  for (const Time end = now + 60s; now < end && read < k_bytes;) {
    written += source.write(group, Bytes(bytes).subspan(written), false).bytes;
    source.on_timeout(now);
    for (Bytes batch; !(batch = source.poll_transmit(48, now)).empty();) {
      while (!batch.empty()) {
        const Bytes packet = batch.first(std::min(batch.size(), source.packet_size()));
        receiver.receive(packet, ChannelWay::kGroup, now);
        batch = batch.subspan(packet.size());
      }
    }
    for (Bytes part; !(part = receiver.groups().peek(group)).empty(); read += part.size()) {
      receiver.groups().consume(group, part.size());
    }
    now = std::max(now + 1us, source.next_timeout());
  }
  EXPECT_EQ(read, k_bytes);
}

TEST(ChannelSource, ChangesItsKeyAfterABurstAsWell) {
  SeededRandom random(4);
  NoAuthenticator authenticator;
  SourceConfig config = proven_config();
  ChannelSource source(config, authenticator, random);
  Time now = k_start;
  while (source.counts().packets < 50'000) {
    publish(source, 1'000'000);
    while (!source.poll_transmit(48, now).empty()) now += 1ms;
    source.on_timeout(now);
  }
  const auto key_sequence = [&source] {
    const auto id = source.add_receiver();
    const auto key = source.poll_key(*id);
    source.remove_receiver(*id);
    return key->sequence;
  };
  const std::uint64_t changes = key_sequence();
  for (const Time end = now + 5 * config.key_interval; now < end;) {
    source.on_timeout(now);
    while (!source.poll_transmit(48, now).empty()) {
    }
    now = std::max(now + 1ms, source.next_timeout());
  }
  publish(source, 100);
  source.poll_transmit(48, now);
  EXPECT_GE(key_sequence(), changes + 2);
}

TEST(ChannelSource, MayGoBeforeItsFlightsAreHashed) {
  SeededRandom random(5);
  Ed25519Seed seed{};
  SigningKey key(seed);
  HelperThread helper;
  FlightSource authenticator({.channel = k_test_channel}, key, helper);
  {
    ChannelSource source(proven_config(), authenticator, random);
    publish(source, 150'000);
    EXPECT_FALSE(source.poll_transmit(100, k_start).empty());
    EXPECT_NE(authenticator.reads_from(), k_no_packet_number);
  }
  EXPECT_EQ(authenticator.reads_from(), k_no_packet_number);
}

TEST(ChannelSource, SendsNothingThatCannotBeProven) {
  TimedChannel channel;
  ChannelSource& source = channel.source;
  publish(source, 3000);
  const Time end = k_start + 50ms * (TimedSchedule::k_last - 1);
  EXPECT_FALSE(source.poll_transmit(48, end - 1ms).empty());
  publish(source, 3000);
  EXPECT_TRUE(source.poll_transmit(48, end).empty());
  EXPECT_TRUE(source.stopped());
  EXPECT_EQ(source.next_timeout(), k_never);
  EXPECT_EQ(source.write(*source.open_group(), pattern_from(0, 9), true).bytes, 0u);

  // Without the log between, a packet stays without a tag.
  std::array<std::uint8_t, 100> datagram{};
  const SealedPacket packet{.number = 9, .datagram = datagram};
  channel.authenticator.add({&packet, 1}, end);
  EXPECT_TRUE(std::ranges::all_of(datagram, [](std::uint8_t byte) { return byte == 0; }));
}

TEST(ChannelSource, ProvesPacketsForTheTimeWhenTheyAreSent) {
  TimedChannel channel;
  ChannelSource& source = channel.source;
  publish(source, 5000);
  source.poll_transmit(1, k_start);
  const Bytes later = source.poll_transmit(1, k_start + 120ms);
  ASSERT_FALSE(later.empty());
  EXPECT_EQ(load<std::uint32_t>(later.last(k_timed_trailer_length).data()), 3u);
}

}  // namespace
}  // namespace sheaf::quic
