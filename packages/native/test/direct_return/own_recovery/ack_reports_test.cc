#include "direct_return/own_recovery/ack_reports.h"

#include <gtest/gtest.h>

#include "direct_return/own_recovery/times.h"
#include "wire/types.h"

namespace sheaf::quic {
namespace {

constexpr Duration k_round_trip = 40ms;

// Acknowledges the numbers from `first` to `last`.
AckFrame range(PacketNumber first, PacketNumber last) {
  return {.largest = last, .first_range = last - first};
}

TEST(AckReports, TellEverythingUntilTheBackendHasIt) {
  AckReports reports;
  ASSERT_TRUE(reports.on_frame(range(0, 9), 1ms, at(0ms)));
  const AckReport first = reports.make(at(2ms));
  EXPECT_EQ(first.number, 1u);
  EXPECT_EQ(first.hold, 2ms);
  EXPECT_EQ(first.ack_delay, 1ms);
  ASSERT_EQ(first.acknowledged.size(), 1u);
  // The client does not repeat what it knows to have arrived, and the first report was lost.
  ASSERT_TRUE(reports.on_frame(range(12, 15), 0ms, at(3ms)));
  const AckReport second = reports.make(at(4ms));
  ASSERT_EQ(second.acknowledged.size(), 2u);
  EXPECT_EQ(second.acknowledged.view()[0], (Interval{12, 16}));
  EXPECT_EQ(second.acknowledged.view()[1], (Interval{0, 10}));
  reports.on_state(second.number, 12);
  EXPECT_EQ(reports.next_timeout(k_round_trip), k_never);
  reports.tell();
  const AckReport third = reports.make(at(8ms));
  ASSERT_EQ(third.acknowledged.size(), 1u);
  EXPECT_EQ(third.acknowledged.view()[0], (Interval{12, 16}));
}

TEST(AckReports, GatherForAnEighthOfTheRoundTripUnlessSomethingIsMissing) {
  AckReports reports;
  ASSERT_TRUE(reports.on_frame(range(0, 9), 0ms, at(0ms)));
  static_cast<void>(reports.make(at(0ms)));
  ASSERT_TRUE(reports.on_frame(range(0, 12), 0ms, at(1ms)));
  EXPECT_EQ(reports.next_timeout(k_round_trip), at(5ms));
  EXPECT_EQ(reports.next_timeout(16ms), at(2ms));
  EXPECT_EQ(reports.next_timeout(1ms), at(1ms));
  ASSERT_TRUE(reports.on_frame(range(16, 17), 0ms, at(1ms)));
  EXPECT_EQ(reports.next_timeout(k_round_trip), Time::min());
  const AckReport report = reports.make(at(1ms));
  // It is said again until it is confirmed.
  EXPECT_EQ(reports.next_timeout(k_round_trip), at(51ms));
  reports.on_state(report.number, 0);
  EXPECT_EQ(reports.next_timeout(k_round_trip), k_never);
}

TEST(AckReports, PassMarksOnAtOnce) {
  AckReports reports;
  AckFrame frame = range(0, 9);
  frame.ecn = EcnCounts{.ect0 = 10};
  ASSERT_TRUE(reports.on_frame(frame, 0ms, at(0ms)));
  static_cast<void>(reports.make(at(0ms)));
  frame = range(0, 11);
  frame.ecn = EcnCounts{.ect0 = 11, .ce = 1};
  ASSERT_TRUE(reports.on_frame(frame, 0ms, at(1ms)));
  EXPECT_EQ(reports.next_timeout(k_round_trip), Time::min());
  EXPECT_EQ(reports.make(at(1ms)).counts, frame.ecn);
}

TEST(AckReports, AreBoundedWhateverTheClientSays) {
  AckReports reports;
  for (PacketNumber number = 0; number < 10'000; number += 2) {
    ASSERT_TRUE(reports.on_frame(range(number, number), 0ms, at(0ms)));
  }
  const AckReport report = reports.make(at(0ms));
  EXPECT_EQ(report.acknowledged.size(), AckReport::k_max_ranges);
  EXPECT_EQ(report.acknowledged.view()[0], (Interval{9'998, 9'999}));
  // No number on the wire is as large.
  EXPECT_FALSE(reports.on_frame(range(1ull << 48, 1ull << 48), 0ms, at(0ms)));
}

}  // namespace
}  // namespace sheaf::quic
