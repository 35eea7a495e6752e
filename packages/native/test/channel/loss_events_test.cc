#include "channel/loss_events.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

constexpr Duration k_loss_round_trip = 50ms;

// A log whose packets were sent one each millisecond
struct SentPackets {
  SentPackets() {
    events.begin(0);
    for (PacketNumber number = 0; number < 1000; ++number) {
      log.slot(number);
      log.keep_in_slot(number, number, 1, Time(number * 1ms));
    }
  }
  std::uint32_t report(std::uint64_t lost, std::initializer_list<Interval> missing) {
    ChannelReport report;
    report.end = 1000;
    report.lost = lost;
    for (const Interval& range : missing) report.missing.push_back(range);
    return events.on_report(report, log, k_loss_round_trip, Time(1s));
  }
  PacketRing log{1, 1000};
  LossEvents events;
};

TEST(LossEvents, LossesWithinARoundTripAreOneEvent) {
  SentPackets packets;
  EXPECT_EQ(packets.report(4, {{120, 121}, {100, 102}, {90, 91}}), 1u);
}

TEST(LossEvents, ALongGapHasAnEventInEachRoundTrip) {
  SentPackets packets;
  EXPECT_EQ(packets.report(200, {{100, 300}}), 4u);
}

TEST(LossEvents, WhatWasNamedBeforeIsNoEvent) {
  SentPackets packets;
  EXPECT_EQ(packets.report(1, {{100, 101}}), 1u);
  EXPECT_EQ(packets.report(1, {{100, 101}}), 0u);
}

TEST(LossEvents, WhatWasRepairedBeforeAReportNamedItIsOneEvent) {
  SentPackets packets;
  EXPECT_EQ(packets.report(7, {}), 0u);  // before the first report
  EXPECT_EQ(packets.report(12, {}), 1u);
  EXPECT_EQ(packets.report(12, {}), 0u);
}

// The total of the first report has what this report names.
TEST(LossEvents, LossesOfTheFirstReportHideNoOthers) {
  SentPackets packets;
  EXPECT_EQ(packets.report(11, {{100, 110}}), 1u);
  EXPECT_EQ(packets.report(11, {}), 0u);
  EXPECT_EQ(packets.report(12, {}), 1u);
}

// Steps for each of these packets would take years.
TEST(LossEvents, WhatTheLogHasForgottenIsOneEvent) {
  constexpr PacketNumber oldest = PacketNumber{1} << 60;
  PacketRing log{1, 1000};
  log.forget_before(oldest);
  for (PacketNumber i = 0; i < 1000; ++i) log.keep_in_slot(oldest + i, i, 1, Time(i * 1ms));
  LossEvents events;
  events.begin(1);
  ChannelReport report;
  report.end = oldest + 1000;
  report.lost = oldest + 99;
  report.missing.push_back({1000, oldest + 100});
  report.missing.push_back({1, 900});
  EXPECT_EQ(events.on_report(report, log, k_loss_round_trip, Time(1s)), 2u);
}

TEST(LossEvents, TheFirstIntervalIsTheOldest) {
  SentPackets packets;
  packets.report(2, {{200, 201}, {100, 101}});
  packets.events.add_first_interval(900);
  EXPECT_DOUBLE_EQ(packets.events.rate(201), 2.0 / (100 + 900));
}

TEST(LossEvents, BetweenStopAndBeginNothingCounts) {
  SentPackets packets;
  packets.report(1, {{100, 101}});
  packets.events.stop();
  EXPECT_FALSE(packets.events.any());
  EXPECT_EQ(packets.report(2, {{200, 201}}), 0u);
  packets.events.begin(300);
  EXPECT_EQ(packets.report(3, {{250, 251}}), 0u);
  EXPECT_EQ(packets.report(4, {{350, 351}}), 1u);
}

TEST(LossEvents, RateIsOfTheMeanInterval) {
  SentPackets packets;
  EXPECT_EQ(packets.events.rate(1000), 0);
  packets.report(3, {{900, 901}, {500, 501}, {100, 101}});
  // Two intervals of 400, and one that lasts
  EXPECT_DOUBLE_EQ(packets.events.rate(1000), 1.0 / 400);
  EXPECT_LT(packets.events.rate(3000), 1.0 / 400);
}

TEST(LossEvents, TotalsThatFallCountNothing) {
  SentPackets packets;
  packets.report(~std::uint64_t{0}, {});
  EXPECT_EQ(packets.report(5, {}), 0u);
}

}  // namespace
}  // namespace sheaf::quic
