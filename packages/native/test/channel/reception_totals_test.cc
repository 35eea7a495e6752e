#include "channel/reception_totals.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

ChannelReport report(std::uint64_t received, std::uint64_t lost, std::uint64_t recovered) {
  ChannelReport value;
  value.received = received;
  value.lost = lost;
  value.recovered = recovered;
  return value;
}

TEST(ReceptionTotals, AddsUpWhatReceiversSay) {
  ReceptionTotals totals;
  totals.add_receiver(0);
  totals.add_receiver(2);
  totals.on_report(0, report(90, 10, 8), 100);
  totals.on_report(2, report(50, 2, 0), 100);
  totals.on_report(0, report(180, 15, 12), 200);
  EXPECT_EQ(totals.sum().received, 230u);
  EXPECT_EQ(totals.sum().lost, 17u);
  EXPECT_EQ(totals.sum().recovered, 12u);
}

TEST(ReceptionTotals, CountsTheNextReceiverOfAPlaceAnew) {
  ReceptionTotals totals;
  totals.add_receiver(0);
  totals.on_report(0, report(90, 10, 0), 100);
  totals.add_receiver(0);
  totals.on_report(0, report(20, 1, 0), 200);
  EXPECT_EQ(totals.sum().received, 110u);
  EXPECT_EQ(totals.sum().lost, 11u);
}

TEST(ReceptionTotals, IgnoresWhatCannotBe) {
  ReceptionTotals totals;
  totals.add_receiver(0);
  totals.on_report(0, report(101, 10, 0), 100);  // more than were sent
  totals.on_report(0, report(5, ~std::uint64_t{0}, 0), 100);
  EXPECT_EQ(totals.sum().received, 0u);
  totals.on_report(0, report(50, 10, 0), 100);
  totals.on_report(0, report(60, 9, 0), 100);  // less than before
  EXPECT_EQ(totals.sum().received, 50u);
  EXPECT_EQ(totals.sum().lost, 10u);
}

TEST(ReceptionTotals, MeasuresFromTheFirstStateToTheGroup) {
  ReceptionTotals totals;
  const Time start{10s};
  totals.add_receiver(0);
  totals.on_state(0, ListenState::kWant, start);
  totals.on_state(0, ListenState::kJoined, start + 5ms);
  EXPECT_EQ(totals.sum().joins, 0u);
  totals.on_state(0, ListenState::kReceiving, start + 40ms);
  totals.on_state(0, ListenState::kUnicast, start + 1s);
  totals.on_state(0, ListenState::kReceiving, start + 2s);
  EXPECT_EQ(totals.sum().joins, 1u);
  EXPECT_EQ(totals.sum().join_delay, 40ms);
}

}  // namespace
}  // namespace sheaf::quic
