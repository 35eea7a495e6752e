#include <gtest/gtest.h>

#include "congestion/bbr/ack_aggregation.h"
#include "congestion/bbr/bandwidth_filter.h"
#include "congestion/bbr/full_pipe.h"
#include "congestion/bbr/minimum_rtt_filter.h"
#include "congestion/bbr/random_loss.h"
#include "congestion/bbr/round_counter.h"
#include "congestion/window_driver.h"

namespace sheaf::quic::bbr {
namespace {

TEST(RoundCounter, ARoundEndsWhenSomethingSentAfterItsStartIsAcknowledged) {
  RoundCounter rounds;
  rounds.on_acknowledgement({.delivered = 1000, .delivered_at_send = 0});
  EXPECT_TRUE(rounds.began());
  rounds.on_acknowledgement({.delivered = 2000, .delivered_at_send = 500});
  EXPECT_FALSE(rounds.began());
  rounds.on_acknowledgement({.delivered = 3000, .delivered_at_send = 1000});
  EXPECT_TRUE(rounds.began());
  EXPECT_EQ(rounds.count(), 2u);
  rounds.restart(9000);
  rounds.on_acknowledgement({.delivered = 9500, .delivered_at_send = 8999});
  EXPECT_FALSE(rounds.began());
}

TEST(BandwidthFilter, RemembersTheCycleBefore) {
  BandwidthFilter filter;
  filter.add(100);
  filter.add(80);
  EXPECT_EQ(filter.maximum(), 100);
  filter.advance();
  filter.add(90);
  EXPECT_EQ(filter.maximum(), 100);
  filter.advance();
  EXPECT_EQ(filter.maximum(), 90);
  filter.advance();  // a cycle without samples
  EXPECT_EQ(filter.maximum(), 90);
}

TEST(MinimumRttFilter, KeepsTheMinimumForTenSeconds) {
  MinimumRttFilter filter;
  EXPECT_FALSE(filter.known());
  filter.on_acknowledgement(50ms, at_ms(0));
  filter.on_acknowledgement(40ms, at_ms(1000));
  filter.on_acknowledgement(60ms, at_ms(11'000));
  EXPECT_EQ(filter.minimum(), 40ms);
  EXPECT_FALSE(filter.expired(at_ms(11'000)));
  EXPECT_TRUE(filter.expired(at_ms(11'001)));
  filter.on_acknowledgement(Duration::zero(), at_ms(11'500));  // gave no sample
  EXPECT_EQ(filter.minimum(), 40ms);
  filter.on_acknowledgement(60ms, at_ms(12'000));
  EXPECT_EQ(filter.minimum(), 60ms);
  filter.renew(at_ms(20'000));
  EXPECT_FALSE(filter.expired(at_ms(30'000)));
}

TEST(FullPipe, ThreeRoundsWithoutGrowth) {
  FullPipe pipe;
  for (double rate : {100., 200., 400., 500.}) pipe.on_round(rate);
  EXPECT_FALSE(pipe.full());
  pipe.on_round(520);
  pipe.on_round(600);
  EXPECT_FALSE(pipe.full());
  pipe.on_round(624);
  EXPECT_TRUE(pipe.full());
  pipe.on_round(10'000);  // asked once
  EXPECT_TRUE(pipe.full());
  pipe.restart(1000);
  EXPECT_FALSE(pipe.full());
  for (int i = 0; i < 3; ++i) pipe.on_round(1100);
  EXPECT_TRUE(pipe.full());
}

TEST(FullPipe, GrowthStartsTheCountAnew) {
  FullPipe pipe;
  pipe.on_round(100);
  for (int i = 0; i < 20; ++i) {
    pipe.on_round(100 * (i + 1));
    pipe.on_round(100 * (i + 1));
  }
  pipe.restart(100);
  for (int i = 0; i < 10; ++i) pipe.on_round(100 * (1 << i));
  EXPECT_FALSE(pipe.full());
}

TEST(AckAggregation, CountsWhatTheRateDoesNotExplain) {
  AckAggregation aggregation;
  const double rate = 1e6;  // 1,000 bytes per millisecond
  aggregation.restart(at_ms(0));
  aggregation.on_acknowledgement(
      {.bytes = 1000, .rate = rate, .window = 1e6, .round = 1, .now = at_ms(1)});
  EXPECT_NEAR(aggregation.maximum(1), 1000, 1);
  // Twenty milliseconds' worth arrives at once.
  aggregation.on_acknowledgement(
      {.bytes = 20'000, .rate = rate, .window = 1e6, .round = 1, .now = at_ms(1)});
  EXPECT_NEAR(aggregation.maximum(1), 21'000, 1);
  // Acknowledgements at the rate add nothing.
  aggregation.on_acknowledgement(
      {.bytes = 19'000, .rate = rate, .window = 1e6, .round = 2, .now = at_ms(20)});
  EXPECT_NEAR(aggregation.maximum(10), 21'000, 1);
  EXPECT_NEAR(aggregation.maximum(1), 21'000, 1);
  // The estimate never exceeds a window.
  aggregation.on_acknowledgement(
      {.bytes = 900'000, .rate = rate, .window = 50'000, .round = 3, .now = at_ms(21)});
  EXPECT_EQ(aggregation.maximum(1), 50'000);
}

TEST(AckAggregation, ForgetsAfterTenRounds) {
  AckAggregation aggregation;
  aggregation.restart(at_ms(0));
  aggregation.on_acknowledgement(
      {.bytes = 30'000, .rate = 1e6, .window = 1e6, .round = 1, .now = at_ms(1)});
  for (std::uint64_t round = 2; round <= 10; ++round) {
    aggregation.on_acknowledgement({.bytes = 100,
                                    .rate = 1e6,
                                    .window = 1e6,
                                    .round = round,
                                    .now = at_ms(100 * static_cast<std::int64_t>(round))});
    EXPECT_EQ(aggregation.maximum(10), 30'000) << round;
  }
  aggregation.on_acknowledgement(
      {.bytes = 100, .rate = 1e6, .window = 1e6, .round = 11, .now = at_ms(1100)});
  EXPECT_EQ(aggregation.maximum(10), 100);
  aggregation.on_acknowledgement(
      {.bytes = 70, .rate = 1e6, .window = 1e6, .round = 500, .now = at_ms(9000)});
  EXPECT_EQ(aggregation.maximum(10), 70);
}

RandomLoss::Round round_of(double lost, Duration rtt = 40ms) {
  return {.delivered = 100'000 - lost, .lost = lost, .rtt = rtt, .minimum_rtt = 40ms};
}

TEST(RandomLoss, LearnsTheShareThatIsLostWithoutAQueue) {
  RandomLoss loss;
  EXPECT_EQ(loss.largest(100'000, k_datagram), 0);
  for (int i = 0; i < 64; ++i) loss.on_quiet_round(round_of(i % 2 == 0 ? 2000 : 0));
  // One percent plus two standard deviations of a count of packets.
  EXPECT_NEAR(loss.largest(100'000, 1000), 1000 + 2 * 1000, 100);
  // A larger flight varies less.
  EXPECT_NEAR(loss.largest(10'000'000, 1000), 100'000 + 20'000, 3000);
}

TEST(RandomLoss, LossBesideAQueueIsNotRandom) {
  RandomLoss loss;
  for (int i = 0; i < 64; ++i) loss.on_quiet_round(round_of(2000, 46ms));
  EXPECT_EQ(loss.largest(100'000, k_datagram), 0);
}

TEST(RandomLoss, IsLimited) {
  RandomLoss loss;
  for (int i = 0; i < 64; ++i) loss.on_quiet_round(round_of(50'000));
  EXPECT_LT(loss.largest(1e9, 1), 0.05e9);
}

TEST(RandomLoss, Fades) {
  RandomLoss loss;
  for (int i = 0; i < 64; ++i) loss.on_quiet_round(round_of(3000));
  for (int i = 0; i < 200; ++i) loss.on_quiet_round(round_of(0));
  EXPECT_LT(loss.largest(1e9, 1), 0.001e9);
}

}  // namespace
}  // namespace sheaf::quic::bbr
