#include "io/wake_moderation.h"

#include <gtest/gtest.h>

#include <chrono>

namespace sheaf::io {
namespace {

using namespace std::chrono_literals;
using quic::Arrivals;
using quic::Duration;
using quic::Time;

class WakeModerationTest : public testing::Test {
 protected:
  // Reads what came since the last time. Returns for how long nothing is read then.
  Duration read(Duration after, const Arrivals& arrivals) {
    now_ += after;
    return moderation_.on_read(arrivals, now_) - now_;
  }
  // Reads one acknowledgement again and again until there is a pause. Returns after how many.
  int reads_until_pause(Duration interval, Duration round_trip, int most = 1000) {
    for (int reads = 1; reads <= most; ++reads) {
      pause_ = read(interval, acknowledgements(1, round_trip));
      if (pause_ > Duration::zero()) return reads;
    }
    return most;
  }
  static Arrivals acknowledgements(std::size_t count, Duration round_trip) {
    return {.datagrams = count, .prompt = 0, .round_trip = round_trip};
  }

  WakeModeration moderation_;
  Time now_{1h};
  Duration pause_{};
};

TEST_F(WakeModerationTest, ReadsAtOnceAfterIdleness) {
  EXPECT_EQ(read(1s, acknowledgements(1, 20ms)), Duration::zero());
  EXPECT_EQ(read(10us, acknowledgements(1, 20ms)), Duration::zero());
}

TEST_F(WakeModerationTest, PausesWhereAcknowledgementsComeOften) {
  const int reads = reads_until_pause(100us, 20ms);
  EXPECT_GT(reads, 5);
  EXPECT_LT(reads, 20);
  EXPECT_EQ(pause_, WakeModeration::k_longest);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(read(pause_, acknowledgements(10, 20ms)), WakeModeration::k_longest);
  }
}

TEST_F(WakeModerationTest, PausesForAPartOfTheShortestRoundTrip) {
  reads_until_pause(50us, 4ms);
  EXPECT_EQ(pause_, 500us);
  EXPECT_EQ(read(500us, acknowledgements(5, 16ms)), 500us);
  EXPECT_EQ(read(500us, acknowledgements(5, 2ms)), 250us);
  // The fast connection is not active any more.
  for (int i = 0; i < 100; ++i) pause_ = read(250us, acknowledgements(5, 16ms));
  EXPECT_EQ(pause_, WakeModeration::k_longest);
}

TEST_F(WakeModerationTest, NeverPausesWhereRoundTripsAreShort) {
  EXPECT_EQ(reads_until_pause(1us, 8 * WakeModeration::k_shortest - 8ns), 1000);
}

TEST_F(WakeModerationTest, NeverPausesWhereWakesAreRare) {
  EXPECT_EQ(reads_until_pause(WakeModeration::k_longest / 2, 100ms), 1000);
}

TEST_F(WakeModerationTest, NeverPausesWhereOtherDatagramsThanAcknowledgementsCome) {
  for (int i = 0; i < 1000; ++i) {
    const Arrivals arrivals{.datagrams = 5, .prompt = 1, .round_trip = 20ms};
    ASSERT_EQ(read(10us, arrivals), Duration::zero());
  }
  reads_until_pause(10us, 20ms);
  EXPECT_GT(pause_, Duration::zero());
  EXPECT_EQ(read(pause_, {.datagrams = 100, .prompt = 50, .round_trip = 20ms}), Duration::zero());
}

TEST_F(WakeModerationTest, EndsPausesThatBringNothing) {
  reads_until_pause(10us, 20ms);
  for (int i = 1; i < WakeModeration::k_empty_reads; ++i) {
    EXPECT_GT(read(pause_, {}), Duration::zero());
  }
  EXPECT_EQ(read(pause_, {}), Duration::zero());
  EXPECT_EQ(read(10us, acknowledgements(1, 20ms)), Duration::zero());
}

TEST_F(WakeModerationTest, EndsPausesThatBringLittle) {
  reads_until_pause(10us, 20ms);
  int reads = 0;
  while (read(pause_, acknowledgements(1, 20ms)) > Duration::zero()) ASSERT_LT(++reads, 20);
  EXPECT_GT(reads, 1);
}

TEST_F(WakeModerationTest, SharesAWakeAmongManyAcknowledgements) {
  constexpr int k_datagrams = 10'000;
  constexpr Duration k_apart = 20us;
  int wakes = 0;
  Time next = now_;
  int waiting = 0;
  for (int i = 0; i < k_datagrams; ++i) {
    now_ += k_apart;
    ++waiting;
    if (now_ < next) continue;
    ++wakes;
    next = moderation_.on_read(acknowledgements(waiting, 8ms), now_);
    waiting = 0;
  }
  EXPECT_LT(wakes, k_datagrams / 45);
}

}  // namespace
}  // namespace sheaf::io
