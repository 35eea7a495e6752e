#include "channel/loss_events.h"

#include <gtest/gtest.h>

#include "channel/rate_control.h"

namespace sheaf::quic {
namespace {

constexpr Duration k_loss_round_trip = 50ms;

// A log whose packets were sent one each millisecond
struct SentPackets {
  SentPackets() {
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

TEST(RateControl, KnowsTheRateOfTcp) {
  EXPECT_NEAR(tcp_rate(1460, 100ms, 0.01), 164'000, 500);
  EXPECT_NEAR(tcp_rate(1460, 100ms, loss_events_at(1460, 100ms, 50'000)), 50'000, 1);
}

}  // namespace
}  // namespace sheaf::quic
