#include "recovery/pacer.h"

#include <gtest/gtest.h>

#include "util/random.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_datagram = 1200;

Time at_us(std::int64_t microseconds) { return Time(std::chrono::microseconds(microseconds)); }

// Sends as fast as the pacer permits until `end`. Returns the number of bytes.
std::uint64_t send_until(Pacer& pacer, Time& now, Time end) {
  std::uint64_t bytes = 0;
  while (now < end) {
    while (pacer.budget(now) >= k_datagram) {
      pacer.on_sent(k_datagram, now);
      bytes += k_datagram;
    }
    now = pacer.next_send_time(now);
  }
  return bytes;
}

TEST(Pacer, UnpacedAtRateZeroAndUnlimited) {
  Pacer pacer;
  EXPECT_EQ(pacer.budget(at_us(0)), UINT64_MAX);
  EXPECT_EQ(pacer.next_send_time(at_us(5)), at_us(5));
  pacer.set_rate(UINT64_MAX, k_datagram, at_us(0));
  pacer.on_sent(1 << 30, at_us(0));
  EXPECT_EQ(pacer.budget(at_us(0)), UINT64_MAX);
}

TEST(Pacer, StartsWithABurstOfAnInitialWindow) {
  Pacer pacer;
  pacer.set_rate(1'200'000, k_datagram, at_us(1'000'000));
  EXPECT_EQ(pacer.budget(at_us(1'000'000)), 10 * k_datagram);
  for (int i = 0; i < 10; ++i) pacer.on_sent(k_datagram, at_us(1'000'000));
  EXPECT_EQ(pacer.budget(at_us(1'000'000)), 0u);
  EXPECT_EQ(pacer.next_send_time(at_us(1'000'000)), at_us(1'001'000));
  EXPECT_EQ(pacer.budget(at_us(1'001'000)), k_datagram);
}

TEST(Pacer, IdleTimeSavesOneBurstOnly) {
  Pacer pacer;
  pacer.set_rate(1'200'000, k_datagram, at_us(0));
  pacer.on_sent(10 * k_datagram, at_us(0));
  EXPECT_EQ(pacer.budget(at_us(3'600'000'000)), 10 * k_datagram);
  pacer.on_sent(k_datagram, at_us(3'600'000'000));
  EXPECT_EQ(pacer.budget(at_us(3'600'000'000)), 9 * k_datagram);
}

TEST(Pacer, BurstsCanBeLimited) {
  Pacer pacer;
  pacer.limit_bursts(20);
  pacer.set_rate(125'000'000, k_datagram, at_us(0));
  EXPECT_EQ(pacer.burst(), 20 * k_datagram);
  EXPECT_EQ(pacer.budget(at_us(10'000)), 20 * k_datagram);
  pacer.limit_bursts(40);
  EXPECT_EQ(pacer.budget(at_us(10'000)), 40 * k_datagram);
  pacer.limit_bursts(1000);
  EXPECT_EQ(pacer.burst(), 250'000u) << "it is no longer than without a limit";
  pacer.limit_bursts(5);
  EXPECT_EQ(pacer.budget(at_us(10'000)), 5 * k_datagram);
  pacer.on_sent(5 * k_datagram, at_us(10'000));
  const Time next = pacer.time_of(3 * k_datagram, at_us(10'000));
  EXPECT_GE(pacer.budget(next), 3 * k_datagram);
  EXPECT_LT(pacer.budget(next - 1us), 3 * k_datagram);
  // More is never saved.
  EXPECT_EQ(pacer.budget(pacer.time_of(100 * k_datagram, at_us(10'000))), 5 * k_datagram);
}

TEST(Pacer, FastPathsBurstForTwoMilliseconds) {
  Pacer pacer;
  pacer.set_rate(125'000'000, k_datagram, at_us(0));
  EXPECT_EQ(pacer.budget(at_us(0)), 250'000u);
}

TEST(Pacer, KeepsTheRate) {
  for (std::uint64_t rate : {10'000ull, 1'234'567ull, 125'000'000ull, 12'500'000'000ull}) {
    Pacer pacer;
    Time now = at_us(0);
    pacer.set_rate(rate, k_datagram, now);
    const std::uint64_t burst = pacer.budget(now);
    const std::uint64_t sent = send_until(pacer, now, at_us(100'000));
    EXPECT_NEAR(static_cast<double>(sent), static_cast<double>(rate / 10 + burst),
                static_cast<double>(2 * k_datagram) + static_cast<double>(rate) * 0.001)
        << rate;
  }
}

TEST(Pacer, OverdrawingIsPaidBack) {
  Pacer pacer;
  pacer.set_rate(1'200'000, k_datagram, at_us(0));
  pacer.on_sent(30 * k_datagram, at_us(0));
  EXPECT_EQ(pacer.next_send_time(at_us(0)), at_us(21'000));
}

TEST(Pacer, RateChangesKeepWhatWasSavedAndOwed) {
  Pacer pacer;
  pacer.set_rate(1'200'000, k_datagram, at_us(0));
  pacer.on_sent(6 * k_datagram, at_us(0));
  pacer.set_rate(2'400'000, k_datagram, at_us(0));
  EXPECT_EQ(pacer.budget(at_us(0)), 4 * k_datagram);
  pacer.on_sent(5 * k_datagram, at_us(0));
  pacer.set_rate(1'200'000, k_datagram, at_us(0));
  EXPECT_EQ(pacer.budget(at_us(0)), 0u);
}

// At the time that `next_send_time` returns, sending must be permitted, or an event loop would
// spin.
TEST(Pacer, WaitingAsToldIsEnough) {
  constexpr std::uint64_t k_seed = 11;
  SCOPED_TRACE("seed " + std::to_string(k_seed));
  SeededRandom random(k_seed);
  for (int i = 0; i < 20'000; ++i) {
    Pacer pacer;
    Time now = at_us(static_cast<std::int64_t>(random.below(1'000'000)));
    pacer.set_rate(1 + random.below(std::uint64_t{1} << random.below(40)), k_datagram, now);
    pacer.on_sent(random.below(20'000), now);
    pacer.set_rate(1 + random.below(std::uint64_t{1} << random.below(40)), k_datagram, now);
    ASSERT_GE(pacer.budget(pacer.next_send_time(now)), k_datagram);
  }
}

}  // namespace
}  // namespace sheaf::quic
