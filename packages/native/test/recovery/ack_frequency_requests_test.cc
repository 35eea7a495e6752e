#include "recovery/ack_frequency_requests.h"

#include <gtest/gtest.h>

#include <array>

#include "wire/frame_codec.h"

namespace sheaf::quic {
namespace {

constexpr Duration k_announced = 25ms;

class AckFrequencyRequestsTest : public ::testing::Test {
 protected:
  AckFrequencyRequestsTest() { requests_.set_peer(1ms, std::nullopt); }
  void update(std::uint64_t window_packets, Duration smoothed_rtt) {
    requests_.update({.window_packets = window_packets, .smoothed_rtt = smoothed_rtt});
  }
  AckFrequencyFrame sent() {
    EXPECT_TRUE(requests_.frame_due());
    std::array<std::uint8_t, 64> buffer{};
    Writer writer(buffer);
    requests_.write_frame(writer, packets_);
    Reader reader(writer.written());
    const auto frame = decode_frame(reader, PacketType::kOneRtt);
    EXPECT_TRUE(frame);
    EXPECT_FALSE(requests_.frame_due());
    return std::get<AckFrequencyFrame>(*frame);
  }
  Duration longest() const { return requests_.max_ack_delay(k_announced); }

  AckFrequencyRequests requests_;
  SentPackets packets_;
};

TEST_F(AckFrequencyRequestsTest, AsksForEightAcknowledgementsInAWindow) {
  update(160, 40ms);
  const AckFrequencyFrame frame = sent();
  EXPECT_EQ(frame.sequence, 0u);
  EXPECT_EQ(frame.threshold, 19u);  // the twentieth packet is acknowledged
  EXPECT_EQ(frame.max_ack_delay, 10'000u);
  EXPECT_EQ(frame.reordering_threshold, 3u);
}

TEST_F(AckFrequencyRequestsTest, AsksForAtMostThirtyTwoPacketsAndTheAnnouncedDelay) {
  update(100'000, 10s);
  const AckFrequencyFrame frame = sent();
  EXPECT_EQ(frame.threshold, 31u);
  EXPECT_EQ(frame.max_ack_delay, 25'000u);
}

TEST_F(AckFrequencyRequestsTest, AsksForFewOfMessages) {
  requests_.update({.window_packets = 20, .smoothed_rtt = 1ms, .messages = true});
  const AckFrequencyFrame frame = sent();
  EXPECT_EQ(frame.threshold, 9u);  // half of the window
  EXPECT_EQ(frame.max_ack_delay, 25'000u);
}

// Their packets overtake each other.
TEST_F(AckFrequencyRequestsTest, AsksToIgnoreTheOrderWhileThereAreSeveralSenders) {
  update(160, 40ms);
  EXPECT_EQ(sent().reordering_threshold, 3u);
  requests_.on_acknowledged(0);
  for (const bool several : {true, false}) {
    requests_.update({.window_packets = 160, .smoothed_rtt = 40ms, .several_senders = several});
    const AckFrequencyFrame frame = sent();
    EXPECT_EQ(frame.reordering_threshold, several ? 0u : 3u);
    EXPECT_EQ(frame.threshold, 19u);
    requests_.on_acknowledged(frame.sequence);
    requests_.update({.window_packets = 160, .smoothed_rtt = 40ms, .several_senders = several});
    EXPECT_FALSE(requests_.frame_due());
  }
}

TEST_F(AckFrequencyRequestsTest, AsksForNoShorterDelayThanThePeerTakes) {
  requests_.set_peer(3ms, std::nullopt);
  update(100, 1ms);
  EXPECT_EQ(sent().max_ack_delay, 3'000u);
}

TEST_F(AckFrequencyRequestsTest, APeerWithACoarseTimerIsAskedForNothing) {
  requests_.set_peer(26ms, std::nullopt);
  update(1000, 40ms);
  EXPECT_FALSE(requests_.frame_due());
  EXPECT_FALSE(requests_.takes_immediate_ack());
}

TEST_F(AckFrequencyRequestsTest, AsksForNoDelayBelowAMillisecond) {
  requests_.set_peer(0ms, std::nullopt);
  update(1000, 100us);
  EXPECT_EQ(sent().max_ack_delay, 1'000u);
}

TEST_F(AckFrequencyRequestsTest, ASmallWindowAsksForNothing) {
  update(31, 40ms);
  EXPECT_FALSE(requests_.frame_due());
  update(32, 40ms);
  EXPECT_TRUE(requests_.frame_due());
}

TEST_F(AckFrequencyRequestsTest, APeerThatAnnouncesNothingIsAskedNothing) {
  requests_.set_peer(std::nullopt, std::nullopt);
  update(100'000, 40ms);
  EXPECT_FALSE(requests_.frame_due());
  EXPECT_FALSE(requests_.takes_immediate_ack());
  EXPECT_EQ(longest(), k_announced);
}

TEST_F(AckFrequencyRequestsTest, ThePresentFormIsPreferred) {
  requests_.set_peer(1ms, 5ms);
  EXPECT_TRUE(requests_.takes_immediate_ack());
  update(160, 4ms);
  EXPECT_EQ(sent().max_ack_delay, 1'000u);
  requests_.set_peer(std::nullopt, 5ms);
  EXPECT_FALSE(requests_.takes_immediate_ack());
}

TEST_F(AckFrequencyRequestsTest, AsksAgainWhenTheWishChangesByAFactorOfTwo) {
  update(80, 40ms);
  EXPECT_EQ(sent().threshold, 9u);
  requests_.on_acknowledged(0);
  update(150, 60ms);
  EXPECT_FALSE(requests_.frame_due());
  update(160, 60ms);
  EXPECT_EQ(sent().sequence, 1u);
  requests_.on_acknowledged(1);
  update(88, 60ms);
  EXPECT_FALSE(requests_.frame_due());
  update(16, 60ms);
  EXPECT_EQ(sent().threshold, 1u);
  requests_.on_acknowledged(2);
  update(16, 20ms);
  EXPECT_EQ(sent().max_ack_delay, 5'000u);
}

TEST_F(AckFrequencyRequestsTest, OneRequestIsInFlightAtATime) {
  update(80, 40ms);
  sent();
  update(1000, 40ms);
  EXPECT_FALSE(requests_.frame_due());
  requests_.on_acknowledged(0);
  update(1000, 40ms);
  EXPECT_TRUE(requests_.frame_due());
}

TEST_F(AckFrequencyRequestsTest, AfterALossTheNewestWishIsAskedForUnderANewNumber) {
  update(80, 40ms);
  sent();
  requests_.on_lost(0);
  EXPECT_TRUE(requests_.frame_due());
  update(1000, 40ms);
  const AckFrequencyFrame again = sent();
  EXPECT_EQ(again.sequence, 1u);
  EXPECT_EQ(again.threshold, 31u);
  requests_.on_lost(0);  // is old news
  EXPECT_FALSE(requests_.frame_due());
}

// §7: a shorter delay counts when the peer is known to keep it, a longer one when it may.
TEST_F(AckFrequencyRequestsTest, TimersUseTheLongestDelayThatMayBe) {
  EXPECT_EQ(longest(), 25ms);
  update(160, 20ms);
  sent();
  EXPECT_EQ(longest(), 25ms);
  requests_.on_acknowledged(0);
  EXPECT_EQ(longest(), 5ms);
  update(160, 80ms);
  sent();
  EXPECT_EQ(longest(), 20ms);
  requests_.on_lost(1);
  EXPECT_EQ(longest(), 20ms);  // it may have arrived
  update(160, 8ms);
  sent();
  EXPECT_EQ(longest(), 20ms);
  requests_.on_acknowledged(2);
  EXPECT_EQ(longest(), 2ms);
}

TEST_F(AckFrequencyRequestsTest, ARequestThatSeemedLostIsAskedForAgain) {
  update(160, 20ms);
  sent();
  requests_.on_lost(0);
  requests_.on_acknowledged(0);
  EXPECT_TRUE(requests_.frame_due());
  EXPECT_EQ(longest(), 25ms);
}

TEST_F(AckFrequencyRequestsTest, WaitsForRoom) {
  update(160, 20ms);
  std::array<std::uint8_t, 6> buffer{};
  Writer writer(buffer);
  requests_.write_frame(writer, packets_);
  EXPECT_EQ(writer.size(), 0u);
  EXPECT_TRUE(requests_.frame_due());
}

}  // namespace
}  // namespace sheaf::quic
