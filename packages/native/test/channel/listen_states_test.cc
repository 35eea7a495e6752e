#include "channel/listen_states.h"

#include <gtest/gtest.h>

#include "channel/messages.h"

namespace sheaf::quic {
namespace {

constexpr Time k_heard{5s};

// The time after which a receiver of this channel takes the group for silent
Duration silence_of(const ChannelOffer& offer) {
  ListenStates states(offer);
  states.on_joined();
  states.on_group_packet(7, k_heard);
  return states.next_timeout() - k_heard;
}

ChannelOffer fast_offer(std::uint64_t max_rate) {
  ChannelOffer offer = example_offer();
  offer.authentication = {};
  offer.max_rate = max_rate;
  offer.reach = 16'384;
  offer.deadline = 2s;
  offer.report_interval = 10ms;
  return offer;
}

TEST(ListenStates, SilenceIsThreeReportIntervals) {
  ChannelOffer offer = example_offer();
  EXPECT_EQ(silence_of(offer), 300ms);
  offer.report_interval = 200ms;
  EXPECT_EQ(silence_of(offer), 600ms);
}

TEST(ListenStates, APauseOfAFastChannelIsNoSilence) {
  EXPECT_EQ(silence_of(fast_offer(12'500'000)), 400ms);
  ChannelOffer hurried = fast_offer(12'500'000);
  hurried.deadline = 800ms;
  EXPECT_EQ(silence_of(hurried), 200ms);
}

// 16,384 packets of 1350 bytes are 177 ms of this rate.
TEST(ListenStates, SilenceLeavesHalfOfTheLogForCopies) {
  EXPECT_NEAR(to_seconds(silence_of(fast_offer(125'000'000))), 0.0885, 0.0001);
}

TEST(ListenStates, PacketsThatWaitForTheirProofAreNoSilence) {
  ChannelOffer offer = fast_offer(125'000'000);
  offer.authentication = offer_of_public_key(AuthenticationScheme::kSigned, {});
  EXPECT_EQ(silence_of(offer), 200ms);
  TimedParameters timed;
  timed.schedule.interval = 125ms;
  timed.schedule.delay = 4;
  offer.authentication = offer_of(timed);
  EXPECT_EQ(silence_of(offer), 750ms);
}

}  // namespace
}  // namespace sheaf::quic
