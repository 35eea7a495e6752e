#include "channel/rate_control.h"

#include <gtest/gtest.h>

#include <array>

namespace sheaf::quic {
namespace {

constexpr std::size_t k_rated_packet = 1000;
constexpr std::uint64_t k_floor = 10'000;
constexpr std::uint64_t k_top = 10'000'000;
constexpr Duration k_rated_interval = 100ms;

// A source that sends a packet each millisecond, whatever its rate is, and receivers that report
class RatedGroup {
 public:
  explicit RatedGroup(std::size_t receivers, std::uint64_t slowest = k_floor)
      : control({.slowest = slowest,
                 .fastest = k_top,
                 .packet_size = k_rated_packet,
                 .report_interval = k_rated_interval}) {
    for (std::size_t id = 0; id < receivers; ++id) {
      control.add_receiver(id);
      control.begin(id, sent_);
    }
  }

  void pass(Duration time) {
    for (const Time end = now + time; now < end; now += 1ms) {
      log_.keep_in_slot(sent_, sent_, 1, now);
      ++sent_;
      control.on_used();
    }
  }
  // Reports that packets are missing which were sent so long ago, the last ones first. Returns
  // the rate.
  std::uint64_t report(std::size_t id, Duration round_trip,
                       std::initializer_list<std::uint64_t> milliseconds_ago = {}) {
    ChannelReport report;
    report.end = sent_;
    report.lost = lost_[id] += milliseconds_ago.size();
    for (const std::uint64_t ago : milliseconds_ago) {
      report.missing.push_back({sent_ - ago, sent_ - ago + 1});
    }
    control.on_report(id, report, {log_, sent_, round_trip}, now);
    return rate();
  }
  // A receiver reports once in an interval that it misses nothing.
  std::uint64_t go_on(std::size_t id, Duration time, Duration round_trip = 100ms) {
    for (const Time end = now + time; now < end;) {
      pass(k_rated_interval);
      report(id, round_trip);
    }
    return rate();
  }
  // Receivers lose one packet of a hundred, in so many intervals.
  std::uint64_t lose(std::size_t receivers, int intervals, Duration round_trip) {
    for (int i = 0; i < intervals; ++i) {
      pass(k_rated_interval);
      for (std::size_t id = 0; id < receivers; ++id) report(id, round_trip * (id + 1), {50});
    }
    return rate();
  }
  std::uint64_t rate() const { return control.rate(false); }

  RateControl control;
  Time now{1s};

 private:
  PacketRing log_{1, 1000};
  PacketNumber sent_ = 0;
  std::array<std::uint64_t, 64> lost_{};
};

// What TCP permits to a receiver that loses a packet of so many
double permits(double packets, Duration round_trip = 100ms) {
  return tcp_rate(k_rated_packet, round_trip, 1 / packets);
}

TEST(RateControl, KnowsTheRateOfTcp) {
  EXPECT_NEAR(tcp_rate(1460, 100ms, 0.01), 164'000, 500);
  EXPECT_NEAR(tcp_rate(1460, 100ms, loss_events_at(1460, 100ms, 50'000)), 50'000, 1);
}

TEST(RateControl, WhereNobodyReliesOnTheGroupNothingIsSlow) {
  RatedGroup group(0);
  EXPECT_EQ(group.control.rate(false), k_top);
  EXPECT_EQ(group.control.rate(true), k_floor) << "members wait for the group";
  group.control.add_receiver(0);
  EXPECT_EQ(group.control.rate(false), k_top);
  group.control.begin(0, 0);
  EXPECT_EQ(group.control.rate(false), k_floor);
  const std::uint64_t grown = group.go_on(0, 2s);
  EXPECT_GT(grown, 4 * k_floor);
  group.control.begin(0, 0);
  EXPECT_EQ(group.rate(), grown) << "it relied on the group before";
  group.control.forget(0);
  group.control.forget(0);
  EXPECT_EQ(group.control.rate(false), k_top);
  group.control.begin(0, 0);
  EXPECT_EQ(group.control.rate(false), k_floor);
}

TEST(RateControl, ForgetsWhoFallsSilent) {
  RatedGroup group(2);
  group.go_on(1, 2s);
  group.pass(k_rated_interval);
  const std::uint64_t limited = group.report(0, 100ms, {1, 90});
  const std::uint64_t kept = group.go_on(1, 2800ms);
  EXPECT_EQ(kept, limited) << "what it permitted holds for three seconds";
  EXPECT_GT(group.go_on(1, 4s), 2 * limited);
}

TEST(RateControl, TheNextLowestTakesThePlaceOfTheLowest) {
  for (const bool leaves : {true, false}) {
    RatedGroup group(3);
    group.go_on(2, 5s);
    // The second one is twice as far away as the first one.
    const std::uint64_t lowest = group.lose(2, 20, 50ms);
    EXPECT_NEAR(static_cast<double>(lowest), permits(100, 100ms), 1);
    group.go_on(2, 1500ms);
    group.report(0, 50ms);
    EXPECT_EQ(group.rate(), lowest);
    if (leaves) group.control.forget(1);
    group.go_on(2, 2s);
    EXPECT_GT(group.rate(), lowest + 100'000);
    // Its last intervals, of which the newest counts a sixth
    EXPECT_LT(static_cast<double>(group.rate()), permits((1600 + 5 * 100) / 6.0, 50ms));
  }
}

TEST(RateControl, HoldsToTheLowestOfVeryMany) {
  RatedGroup group(40);
  const std::uint64_t lowest = group.lose(40, 20, 2ms);
  EXPECT_NEAR(static_cast<double>(lowest), permits(100, 80ms), 1);
  for (std::size_t id = 30; id < 40; ++id) group.control.forget(id);
  group.lose(30, 10, 2ms);
  EXPECT_NEAR(static_cast<double>(group.rate()), permits(100, 60ms), 1);
}

TEST(RateControl, WhoIsFarAwayDoesNotStopTheGrowth) {
  RatedGroup group(1);
  group.pass(k_rated_interval);
  group.report(0, 10s, {50});
  group.go_on(0, 60s, 10s);
  // A packet in each round trip of ten seconds would be 10 bytes per second in each second.
  EXPECT_GT(group.rate(), k_floor + 10'000);
}

TEST(RateControl, AfterALossItGrowsByAPacketInARoundTripUntilAllIsCalm) {
  RatedGroup group(2);
  group.go_on(1, 3s);
  group.pass(k_rated_interval);
  group.report(0, 100ms, {5, 95});
  group.control.forget(0);
  const std::uint64_t before = group.rate();
  // 10 packets per second more in each second
  EXPECT_NEAR(static_cast<double>(group.go_on(1, 9s) - before), 9 * 100'000, 100'000);
  group.go_on(1, 1s);
  const std::uint64_t calm = group.rate();
  EXPECT_NEAR(static_cast<double>(group.go_on(1, 1s)), 4.0 * static_cast<double>(calm), 1000);
}

TEST(RateControl, AStepAtMostDoublesTheRate) {
  RatedGroup group(2);
  group.go_on(1, 1s);
  group.pass(k_rated_interval);
  group.report(0, 1ms, {5, 15, 25, 35, 45, 55, 65, 75, 85, 95});
  const std::uint64_t before = group.rate();
  for (int i = 0; i < 20; ++i) {
    group.pass(5ms);
    group.report(i % 2, 1ms);
  }
  EXPECT_GT(group.rate(), before);
  EXPECT_LE(group.rate(), 2 * before) << "in a report interval";
  const std::uint64_t then = group.rate();
  group.pass(900ms);
  EXPECT_LE(group.report(1, 1ms), 2 * then) << "with a report";
}

// Each of a thousand steps would lose a part of a byte.
TEST(RateControl, GrowsAsFastWhenReportsAreMany) {
  RatedGroup group(1);
  group.pass(k_rated_interval);
  const auto before = static_cast<double>(group.report(0, 100ms));
  for (int i = 0; i < 1000; ++i) {
    group.pass(1ms);
    group.report(0, 100ms);
  }
  EXPECT_NEAR(static_cast<double>(group.rate()), 4 * before, before / 100);
}

TEST(RateControl, AFirstReportOfTwoEventsIsNoReasonToFallFar) {
  RatedGroup group(1);
  group.go_on(0, 4s);
  const double before = static_cast<double>(group.rate());
  group.pass(k_rated_interval);
  const double after = static_cast<double>(group.report(0, 10ms, {5, 20}));
  EXPECT_LT(after, 0.5 * before);
  EXPECT_GT(after, 1.2 * permits(15, 10ms)) << "that of the interval between the events alone";
}

TEST(RateControl, BoundsRoundTrips) {
  for (const Duration round_trip : {Duration::max(), Duration::min(), Duration{}}) {
    RatedGroup group(1);
    group.go_on(0, 1s, round_trip);
    for (int i = 0; i < 20; ++i) {
      group.pass(k_rated_interval);
      group.report(0, round_trip, {1, 90});
      EXPECT_GE(group.rate(), k_floor);
      EXPECT_LE(group.rate(), k_top);
    }
  }
}

TEST(RateControl, OneEventIsNoReasonForCopies) {
  RatedGroup group(1, 200'000);
  group.pass(k_rated_interval);
  group.report(0, 500ms, {50});
  for (int i = 0; i < 50; ++i) {
    group.go_on(0, k_rated_interval, 500ms);
    EXPECT_FALSE(group.control.is_too_slow(0, group.now));
  }
  // Each receiver has so many packets between two events.
  EXPECT_LT(permits(100), 200'000);
  group.lose(1, 40, 100ms);
  EXPECT_TRUE(group.control.is_too_slow(0, group.now));
}

}  // namespace
}  // namespace sheaf::quic
