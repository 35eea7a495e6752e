#include "direct_return/arrival_order.h"

#include <gtest/gtest.h>

#include <iostream>

#include "sim/direct_return/equalised_runs.h"
#include "sim/receivers/chromium_receiver.h"
#include "sim/receivers/neqo_receiver.h"
#include "sim/receivers/receiving.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_rate = 8'400;  // packets per second: 100 Mbit/s

// A gateway 20 ms away from the client, a backend beside it and one that is 8 ms farther
class TwoBackends : public ::testing::Test {
 protected:
  TwoBackends() {
    for (int i = 0; i < 40; ++i) {
      now_ += 5ms;
      order_.on_sample(0, 20ms, now_);
      order_.on_sample(1, 21ms, now_);
      order_.on_sample(2, 28ms, now_);
    }
  }

  Time now_{};
  ArrivalOrder order_;
};

TEST_F(TwoBackends, HaveWays) {
  EXPECT_EQ(order_.way(0), 0ms);
  EXPECT_EQ(order_.way(1), 1ms);
  EXPECT_EQ(order_.way(2), 8ms);
  EXPECT_EQ(order_.way(3), 0ms);  // not measured
}

TEST_F(TwoBackends, WaitOnlyForThoseThatSendNow) {
  EXPECT_EQ(order_.wait(1, now_), 0ms);
  order_.on_numbered(1, now_);
  EXPECT_EQ(order_.wait(1, now_), 0ms);
  order_.on_numbered(2, now_);
  EXPECT_EQ(order_.wait(1, now_), 7ms);
  EXPECT_EQ(order_.wait(2, now_), 0ms);
  EXPECT_EQ(order_.wait(0, now_), 8ms);  // so do the gateway's own packets
  EXPECT_EQ(order_.wait(1, now_ + 28ms), 7ms);
  EXPECT_EQ(order_.wait(1, now_ + 29ms), 0ms);
}

TEST_F(TwoBackends, AreNeverDueBeforeTheyWereBefore) {
  order_.on_numbered(1, now_);
  order_.on_numbered(2, now_);
  EXPECT_EQ(order_.limits(k_rate, now_).waits[1], 7ms);
  EXPECT_EQ(order_.limits(k_rate, now_).waits[0], 8ms);
  order_.forget(2);
  EXPECT_EQ(order_.limits(k_rate, now_ + 3ms).waits[1], 4ms);
  EXPECT_EQ(order_.limits(k_rate, now_ + 4ms).waits[1], 3ms);
  EXPECT_EQ(order_.limits(k_rate, now_ + 9ms).waits[1], 0ms);
}

TEST_F(TwoBackends, SendLongRunsOnlyAtHighRates) {
  EXPECT_EQ(order_.limits(500, now_).longest, 2u);
  EXPECT_EQ(order_.limits(500, now_).shortest, 1u);
  EXPECT_EQ(order_.limits(k_rate, now_).longest, 16u);
  EXPECT_EQ(order_.limits(k_rate, now_).shortest, 8u);
  EXPECT_EQ(order_.limits(100 * k_rate, now_).longest, 32u);
  EXPECT_EQ(order_.limits(100 * k_rate, now_).shortest, 8u);
}

TEST_F(TwoBackends, MayAlternateWhileTheirWaysAreCertain) {
  order_.on_numbered(2, now_);
  order_.on_numbered(1, now_);
  EXPECT_LT(order_.uncertainty(), 1us) << "the gateway's own way is a mean";
  EXPECT_EQ(order_.limits(k_rate, now_).per_turn, 96u);
  EXPECT_EQ(order_.limits(k_rate, now_).before_switch, 0ms);
  EXPECT_EQ(order_.limits(k_rate, now_).waits[1], 7ms);
}

TEST_F(TwoBackends, PauseBetweenTheirTurnsWhileTheirWaysAreUncertain) {
  SeededRandom random(3);
  for (int i = 0; i < 200; ++i) {
    now_ += 1ms;
    order_.on_sample(i % 2 == 0 ? 1 : 2, 30ms + Duration(std::int64_t(random.below(8'000'000))),
                     now_);
  }
  const Duration uncertainty = order_.uncertainty();
  EXPECT_GT(uncertainty, 2ms);
  EXPECT_LT(uncertainty, 16ms);
  order_.on_numbered(1, now_);
  EXPECT_EQ(order_.limits(k_rate, now_).per_turn, 96u);  // nobody else to overtake
  EXPECT_EQ(order_.limits(k_rate, now_).before_switch, uncertainty);
  order_.on_numbered(2, now_);
  EXPECT_LT(order_.limits(k_rate, now_).per_turn, 80u);
  EXPECT_EQ(order_.limits(100 * k_rate, now_).per_turn, 8u);
  // Where packets are rare, fewer than half a run of them overtake.
  EXPECT_EQ(order_.limits(k_rate / 10, now_).before_switch, 0ms);
  EXPECT_GT(order_.limits(k_rate / 10, now_).per_turn, 80u);
}

TEST_F(TwoBackends, AreNotTakenForUncertainWhenAQueueFillsSlowly) {
  for (int i = 0; i < 2'000; ++i) {
    now_ += 1ms;
    const Duration queue = 25us * i;  // 50 ms within two seconds
    order_.on_sample(1, 21ms + queue, now_);
    order_.on_sample(2, 28ms + queue, now_);
  }
  EXPECT_NEAR(to_seconds(order_.way(2) - order_.way(1)), 0.007, 0.0001);
  order_.on_numbered(1, now_);
  order_.on_numbered(2, now_);
  EXPECT_LT(order_.uncertainty(), 100us);
}

// A client that was asked to ignore the order keeps packets back for a time that nobody knows.
TEST_F(TwoBackends, AreNotTakenForUncertainWhenTheClientKeepsAcknowledgementsBack) {
  SeededRandom random(4);
  for (int i = 0; i < 1'000; ++i) {
    now_ += 1ms;
    const Duration kept = Duration(std::int64_t(random.below(10'000'000)));
    const bool far = i % 2 == 0;
    order_.on_sample(far ? 2 : 1, (far ? 28ms : 21ms) + kept, now_,
                     i % 3 == 0 ? std::optional(kept) : std::nullopt);
  }
  EXPECT_NEAR(to_seconds(order_.way(2) - order_.way(1)), 0.007, 0.0005);
  EXPECT_LT(order_.uncertainty(), 1ms);
}

// Else its next packet, the head of a response for example, would wait as long as the queue.
TEST_F(TwoBackends, AreNoFartherFromAGatewayThatSentNothingWhileAQueueGrew) {
  for (int i = 0; i < 2'000; ++i) {
    now_ += 1ms;
    order_.on_sample(1, 61ms, now_);
    order_.on_sample(2, 68ms, now_);
  }
  order_.on_numbered(1, now_);
  order_.on_numbered(2, now_);
  EXPECT_EQ(order_.way(1), 1ms);
  EXPECT_EQ(order_.wait(0, now_), 8ms);
  EXPECT_EQ(order_.wait(1, now_), 7ms);
}

TEST_F(TwoBackends, AreMeasuredAnewWhenAWayChanges) {
  for (int i = 0; i < 1'100; ++i) {
    now_ += 1ms;
    order_.on_sample(1, 24ms, now_);
    order_.on_sample(2, 26ms, now_);
  }
  EXPECT_EQ(order_.way(2) - order_.way(1), 2ms);
}

// Behind a queue that stands, round trips are a matter of the place in a burst.
TEST_F(TwoBackends, KeepTheirWaysWhileAQueueStands) {
  order_.limits(k_rate / 10, now_);
  SeededRandom random(5);
  for (int i = 0; i < 600; ++i) {
    now_ += 10ms;
    const Duration queue = 200ms + Duration(std::int64_t(random.below(12'000'000)));
    const bool far = i / 2 % 2 == 0;
    order_.on_sample(far ? 2 : 1, (far ? 28ms : 21ms) + queue, now_);
    EXPECT_EQ(order_.way(2) - order_.way(1), 7ms) << i;
  }
}

TEST_F(TwoBackends, AreMeasuredAnewBehindAQueueWhenTheirWaysContradict) {
  order_.limits(k_rate, now_);
  for (int i = 0; i < 3'000; ++i) {
    now_ += 1ms;
    order_.on_sample(1, 221ms, now_);
    order_.on_sample(2, 238ms, now_);
  }
  EXPECT_EQ(order_.way(2) - order_.way(1), 17ms);
}

// The smallest samples of a span and of the one before must not be compared with each other.
TEST_F(TwoBackends, AreComparedAtTheSameTimeWhenAQueueGrows) {
  for (int i = 0; i < 2'000; ++i) {
    now_ += 2ms;
    const bool far = i / 10 % 2 == 0;
    order_.on_sample(far ? 2 : 1, (far ? 28ms : 21ms) + 100us * i, now_);
    EXPECT_NEAR(to_seconds(order_.way(2) - order_.way(1)), 0.007, 0.003) << i;
  }
}

TEST_F(TwoBackends, MakeADetour) {
  const auto follow = [&](std::initializer_list<ArrivalOrder::Sender> active) {
    double detour = 0;
    for (int i = 0; i < 1000; ++i) {
      now_ += 5ms;
      for (const auto sender : active) order_.on_numbered(sender, now_);
      detour = order_.detour(20ms, now_);
    }
    return detour;
  };
  EXPECT_EQ(follow({}), 1);
  EXPECT_NEAR(follow({1}), 21.0 / 20, 1e-6);
  EXPECT_NEAR(follow({1, 2}), 28.0 / 20, 1e-6) << "the near one waits";
  EXPECT_NEAR(follow({}), 1, 1e-6);
}

TEST_F(TwoBackends, LetADetourChangeByPartsOfARoundTrip) {
  order_.detour(20ms, now_);
  order_.on_numbered(2, now_);
  EXPECT_NEAR(order_.detour(20ms, now_ + 20ms), 1 + 0.4 / 8, 1e-6);
}

TEST_F(TwoBackends, MakeADetourWithinBoundsWhateverAClientSays) {
  for (int i = 0; i < 2000; ++i) {
    now_ += 5ms;
    order_.on_sample(0, 30ms, now_, 25ms);  // says that it waited
    order_.on_sample(1, 21ms, now_);
    order_.on_sample(2, 500ms, now_);
    order_.on_numbered(2, now_);
    EXPECT_LE(order_.detour(20ms, now_), ArrivalOrder::k_max_detour);
    EXPECT_LE(order_.detour(100ms, now_), ArrivalOrder::k_max_detour);
  }
  for (int i = 0; i < 2000; ++i) {
    order_.on_numbered(2, now_ += 5ms);
    EXPECT_GT(order_.detour(100ms, now_), 1);
  }
  EXPECT_NEAR(order_.detour(100ms, now_), 1.25, 1e-4) << "25 ms at most, of the least round trip";
}

// Before its first sample, a gateway is not known to be nearer.
TEST(ArrivalOrder, KnowsNoDetourOfAGatewayThatSentNothing) {
  ArrivalOrder order;
  const Time now{1s};
  order.on_sample(1, 30ms, now);
  order.on_numbered(1, now);
  EXPECT_EQ(order.detour(20ms, now), 1);
}

TEST_F(TwoBackends, TakeTurnsOfSomePackets) {
  EXPECT_EQ(order_.limits(40, now_).shortest_turn, 2u);
  EXPECT_EQ(order_.limits(k_rate / 10, now_).shortest_turn, 21u) << "25 ms";
  EXPECT_EQ(order_.limits(k_rate, now_).shortest_turn, 24u);
  EXPECT_EQ(order_.limits(100 * k_rate, now_).shortest_turn, 32u) << "one run";
}

// A client that acknowledges the packets of one sender late would delay all others as it likes.
TEST(ArrivalOrder, BoundsWhatAClientMakesOfTheWays) {
  ArrivalOrder order;
  Time now{1s};
  for (int i = 0; i < 100; ++i) {
    now += 1ms;
    order.on_sample(1, i % 3 == 0 ? 10s : 5s, now);
    order.on_sample(0, 1ms, now);
    order.on_numbered(1, now);
    order.on_numbered(0, now);
  }
  EXPECT_GT(order.way(1), 1s);
  EXPECT_EQ(order.wait(0, now), 25ms);
  const RunLimits limits = order.limits(k_rate, now);
  for (const Duration wait : limits.waits) EXPECT_LE(wait, 25ms);
  EXPECT_LE(limits.before_switch, 25ms);
  EXPECT_LE(order.uncertainty(), 25ms);
}

TEST_F(TwoBackends, AreForgottenWhenTheyAreGone) {
  order_.on_numbered(1, now_);
  order_.on_numbered(2, now_);
  order_.forget(2);
  EXPECT_EQ(order_.wait(1, now_), 0ms);
  EXPECT_EQ(order_.way(2), 0ms);
}

double acks_per_packet(SharedNumbers config, ReceiverModel& client, std::uint64_t seed) {
  const bool equalised = config.timing != nullptr;
  const SharedNumbersResult result = deliver(config, client, seed);
  const double acks =
      static_cast<double>(result.acknowledgements) / static_cast<double>(config.packets);
  std::cout << client.name() << (equalised ? ", equalised, " : ", ") << config.senders
            << " senders, " << to_seconds(config.spread) * 1e3 << " ms apart, seed " << seed << ": "
            << acks << " ACKs per packet, " << result.most_ranges << " ranges, refused "
            << result.refused << '\n';
  EXPECT_LE(result.refused * 1000, config.packets);
  EXPECT_LE(result.most_ranges, 24u);
  return acks;
}

// The work of the gateway follows the number of ACKs.
TEST(ArrivalOrder, MakesChromiumAcknowledgeSeldom) {
  std::uint64_t seed = 301;
  for (const std::size_t senders : {2, 4, 8}) {
    for (const Duration spread : {Duration(2ms), Duration(5ms), Duration(10ms)}) {
      SharedNumbers config{.senders = senders, .spread = spread};
      EqualisedRuns equalised(senders);
      config.timing = &equalised;
      ChromiumReceiver calm(2 * config.delay);
      EXPECT_LE(acks_per_packet(config, calm, seed), 0.2);
      config.timing = nullptr;
      ChromiumReceiver busy(2 * config.delay);
      const double without = acks_per_packet(config, busy, seed);
      if (spread >= 10ms) {
        EXPECT_GT(without, 0.4);
      }
      ++seed;
    }
  }
}

// Firefox, which was asked for an ACK of 32 packets: it also sends one for each gap, unless it was
// asked to ignore the order. In runs of several senders, gaps are no sign of loss.
TEST(ArrivalOrder, LetsFirefoxAcknowledgeSeldomIfItIgnoresTheOrder) {
  std::uint64_t seed = 341;
  for (const std::size_t senders : {2, 4, 8}) {
    for (const Duration spread : {Duration(2ms), Duration(5ms), Duration(10ms)}) {
      SharedNumbers config{.senders = senders, .spread = spread};
      double acks[2];
      for (const bool ignores : {false, true}) {
        EqualisedRuns equalised(senders);
        config.timing = &equalised;
        NeqoReceiver client(2 * config.delay);
        client.set_ack_frequency(32, 10ms, ignores);
        acks[ignores] = acks_per_packet(config, client, seed);
      }
      EXPECT_LT(acks[true], 0.05);
      if (spread >= 10ms) {
        EXPECT_GT(acks[false], 1.5 * acks[true]);
      }
      ++seed;
    }
  }
}

// What lies below a number that the client has reported is acknowledged packet by packet. So a
// single packet that overtakes all runs on their way costs as many ACKs as they have packets.
TEST(ArrivalOrder, HelpsOnlyWhenTheGatewaysOwnPacketsWaitToo) {
  EqualisedRuns hasty(2, false);
  const SharedNumbers config{.spread = 10ms, .timing = &hasty};
  ChromiumReceiver client(2 * config.delay);
  EXPECT_GT(acks_per_packet(config, client, 303), 0.4);
}

// Backends that are busy send a little later at times.
TEST(ArrivalOrder, BearsBackendsThatAreLateByAFewPackets) {
  std::uint64_t seed = 321;
  for (const std::size_t senders : {2, 8}) {
    EqualisedRuns equalised(senders);
    const SharedNumbers config{
        .senders = senders, .spread = 10ms, .timing = &equalised, .jitter = 500us};
    ChromiumReceiver client(2 * config.delay);
    EXPECT_LE(acks_per_packet(config, client, seed++), 0.2);
  }
}

}  // namespace
}  // namespace sheaf::quic
