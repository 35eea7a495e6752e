#include <gtest/gtest.h>

#include "channel/messages.h"
#include "channel/receiver.h"
#include "channel/source.h"
#include "channel_authentication/flight_source.h"
#include "channel_authentication/flight_verifier.h"
#include "sim/pattern.h"
#include "stream/allocation_counter.h"

namespace sheaf::quic {
namespace {

constexpr std::size_t k_receivers = 2;

ChannelOffer signed_offer() {
  ChannelOffer offer = example_offer();
  offer.authentication = {};
  offer.report_share = 0;
  offer.repairs = true;
  offer.max_rate = 125'000'000;
  offer.report_interval = 20ms;
  return offer;
}

// A signed channel with repairs, whose receivers read what comes. Both miss one packet of 50 at
// the same place, and each another one, so that there are repairs and copies.
class SteadyChannel {
 public:
  SteadyChannel() {
    for (std::size_t i = 0; i < k_receivers; ++i) {
      Member& member = *members_.emplace_back(std::make_unique<Member>());
      member.id = *source_.add_receiver();
      member.verifier =
          std::make_unique<FlightVerifier>(FlightVerifierConfig{.channel = source_.offer().channel},
                                           key_.public_key(), runner_, random_);
      member.receiver =
          std::make_unique<ChannelReceiver>(source_.offer(), *member.verifier, random_, now_);
      member.receiver->on_joined();
    }
    group_ = *source_.open_group();
  }

  // Sends what 20 ms bring, and lets receivers read and report.
  void turn() {
    const auto written = source_.write(group_, content_, false);
    EXPECT_EQ(written.bytes, content_.size());
    for (int step = 0; step < 4; ++step) {
      now_ += 5ms;
      source_.on_timeout(now_);
      send_repairs();
      for (Bytes batch; !(batch = source_.poll_transmit(48, now_)).empty();) spread(batch);
      for (std::size_t i = 0; i < k_receivers; ++i) exchange(*members_[i]);
    }
  }

  std::size_t turn_bytes() const { return content_.size(); }
  std::uint64_t read() const { return members_[0]->read; }
  const ReceiverCounts& counts(std::size_t index) const {
    return members_[index]->receiver->counts();
  }
  const ChannelSource& source() const { return source_; }

 private:
  struct Member {
    ChannelSource::ReceiverId id = 0;
    std::unique_ptr<FlightVerifier> verifier;
    std::unique_ptr<ChannelReceiver> receiver;
    std::uint64_t read = 0;
  };

  bool loses(std::size_t member) const { return index_ % 50 == 0 || index_ % 50 == 20 + member; }

  void spread(Bytes batch) {
    for (; !batch.empty(); ++index_) {
      const Bytes packet = batch.first(std::min(batch.size(), source_.packet_size()));
      batch = batch.subspan(packet.size());
      for (std::size_t i = 0; i < k_receivers; ++i) {
        if (!loses(i)) members_[i]->receiver->receive(packet, ChannelWay::kGroup, now_);
      }
    }
  }
  void send_repairs() {
    for (Bytes packet; !(packet = source_.poll_repair(now_)).empty();) {
      for (const auto& member : members_) {
        member->receiver->receive(packet, ChannelWay::kGroup, now_);
      }
    }
  }
  void exchange(Member& member) {
    ChannelReceiver& receiver = *member.receiver;
    receiver.on_timeout(now_);
    if (const auto state = receiver.poll_state()) source_.on_state(member.id, *state, now_);
    if (const auto report = receiver.poll_report(now_)) {
      source_.on_report(member.id, *report, now_);
    }
    while (const auto key = source_.poll_key(member.id)) receiver.on_key(*key, now_);
    for (Bytes copy; !(copy = source_.poll_copy(member.id, now_)).empty();) {
      receiver.receive(copy, ChannelWay::kSource, now_);
    }
    GroupStreams& groups = receiver.groups();
    while (const auto event = groups.poll_event()) read_group(member, event->group);
  }
  static void read_group(Member& member, StreamId group) {
    GroupStreams& groups = member.receiver->groups();
    for (Bytes bytes; !(bytes = groups.peek(group)).empty();) {
      member.read += bytes.size();
      groups.consume(group, bytes.size());
    }
  }

  SeededRandom random_{7};
  SigningKey key_{Ed25519Seed{3}};
  InlineRunner runner_;
  FlightSource authenticator_{{.channel = signed_offer().channel}, key_, runner_};
  ChannelSource source_{{.offer = signed_offer()}, authenticator_, random_};
  std::vector<std::unique_ptr<Member>> members_;
  const Bytes content_ = pattern_from(0, 100'000);
  StreamId group_{};
  std::size_t index_ = 0;
  Time now_{1s};
};

TEST(SteadyChannel, PacketsRepairsAndReportsAllocateNothing) {
  SteadyChannel channel;
  for (int i = 0; i < 100; ++i) channel.turn();
  const std::size_t before = allocation_count();
  const std::uint64_t read = channel.read();
  const std::uint64_t recovered = channel.counts(0).recovered;
  const std::uint64_t copied = channel.counts(0).from_unicast;
  for (int i = 0; i < 100; ++i) channel.turn();
  EXPECT_EQ(allocation_count() - before, 0u);
  EXPECT_EQ(channel.read() - read, 100 * channel.turn_bytes());
  EXPECT_GT(channel.counts(0).recovered - recovered, 100u);
  EXPECT_GT(channel.counts(0).from_unicast, copied);
  EXPECT_EQ(channel.counts(0).expired, 0u);
  EXPECT_EQ(channel.counts(1).forged, 0u);
}

}  // namespace
}  // namespace sheaf::quic
