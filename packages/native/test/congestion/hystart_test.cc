#include "congestion/hystart.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

// Runs one round of ten packets, each acknowledged alone. Returns true when slow start ended in it.
bool round(HyStart& hystart, PacketNumber& next, Duration rtt) {
  const PacketNumber first = next;
  for (int i = 0; i < 10; ++i) hystart.on_packet_sent(next++);
  bool over = false;
  for (PacketNumber number = first; number < next; ++number) {
    over |= hystart.on_acknowledgement(number, rtt, 1);
  }
  return over;
}

TEST(HyStart, NeverEndsWhileTheRoundTripIsConstant) {
  HyStart hystart;
  PacketNumber next = 0;
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(round(hystart, next, 100ms));
    EXPECT_EQ(hystart.growth_divisor(), 1u);
  }
}

TEST(HyStart, SlowsDownThenEndsWhenTheQueueGrows) {
  HyStart hystart;
  PacketNumber next = 0;
  for (int i = 0; i < 3; ++i) round(hystart, next, 100ms);
  int rounds = 0;
  while (!round(hystart, next, 115ms) && rounds < 20) ++rounds;
  EXPECT_EQ(hystart.growth_divisor(), 4u);
  EXPECT_GE(rounds, 4);
  EXPECT_LE(rounds, 6);
}

TEST(HyStart, GoesOnWhenTheGrowthWasJitter) {
  HyStart hystart;
  PacketNumber next = 0;
  for (int i = 0; i < 3; ++i) round(hystart, next, 100ms);
  round(hystart, next, 115ms);
  EXPECT_EQ(hystart.growth_divisor(), 4u);
  round(hystart, next, 101ms);
  round(hystart, next, 101ms);
  EXPECT_EQ(hystart.growth_divisor(), 1u);
}

TEST(HyStart, GrowthBelowTheThresholdIsNoise) {
  HyStart hystart;
  PacketNumber next = 0;
  for (int i = 0; i < 3; ++i) round(hystart, next, 10ms);
  round(hystart, next, 13ms);  // less than 4 ms more
  EXPECT_EQ(hystart.growth_divisor(), 1u);
  round(hystart, next, 17ms);
  EXPECT_EQ(hystart.growth_divisor(), 4u);
}

TEST(HyStart, NeedsEightSamples) {
  HyStart hystart;
  PacketNumber next = 0;
  for (int i = 0; i < 3; ++i) round(hystart, next, 100ms);
  for (int i = 0; i < 10; ++i) hystart.on_packet_sent(next++);
  // The first of these packets ends the previous round.
  for (PacketNumber number = next - 10; number < next - 2; ++number) {
    hystart.on_acknowledgement(number, 200ms, 1);
  }
  EXPECT_EQ(hystart.growth_divisor(), 1u);
  hystart.on_acknowledgement(next - 2, 200ms, 1);
  EXPECT_EQ(hystart.growth_divisor(), 4u);
}

TEST(HyStart, EachSampleOfABatchCounts) {
  HyStart hystart;
  PacketNumber next = 0;
  for (int i = 0; i < 3; ++i) round(hystart, next, 100ms);
  for (int i = 0; i < 10; ++i) hystart.on_packet_sent(next++);
  hystart.on_acknowledgement(next - 9, 200ms, 1);  // ends the previous round
  hystart.on_acknowledgement(next - 3, 200ms, 7);
  EXPECT_EQ(hystart.growth_divisor(), 1u);
  hystart.on_acknowledgement(next - 2, Duration::zero(), 0);
  EXPECT_EQ(hystart.growth_divisor(), 1u);
  hystart.on_acknowledgement(next - 1, 200ms, 1);
  EXPECT_EQ(hystart.growth_divisor(), 4u);
}

TEST(HyStart, StoppedItDecidesNothing) {
  HyStart hystart;
  PacketNumber next = 0;
  for (int i = 0; i < 3; ++i) round(hystart, next, 100ms);
  hystart.stop();
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(round(hystart, next, 300ms));
  EXPECT_EQ(hystart.growth_divisor(), 1u);
}

}  // namespace
}  // namespace sheaf::quic
