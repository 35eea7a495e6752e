#include "flow_control/receive_window.h"

#include <gtest/gtest.h>

#include "util/bytes.h"

namespace sheaf::quic {
namespace {

Time at_ms(std::int64_t milliseconds) { return Time(std::chrono::milliseconds(milliseconds)); }

TEST(ReceiveWindow, AllowsUpToItsLimit) {
  ReceiveWindow window(1000, 4000);
  EXPECT_TRUE(window.allows(1000));
  EXPECT_FALSE(window.allows(1001));
  window.receive(600, at_ms(0));
  EXPECT_TRUE(window.allows(400));
  EXPECT_FALSE(window.allows(401));
}

TEST(ReceiveWindow, MovesItsLimitWhenHalfIsConsumed) {
  ReceiveWindow window(1000, 1000);
  window.receive(1000, at_ms(0));
  EXPECT_FALSE(window.consume(499, at_ms(1), 10ms));
  EXPECT_TRUE(window.consume(1, at_ms(1), 10ms));
  EXPECT_EQ(window.limit(), 1500u);
  EXPECT_FALSE(window.consume(499, at_ms(1), 10ms));
  EXPECT_TRUE(window.consume(1, at_ms(1), 10ms));
  EXPECT_EQ(window.limit(), 2000u);
}

TEST(ReceiveWindow, DoublesWhenHalfIsConsumedWithinTwoRoundTrips) {
  ReceiveWindow window(1000, 3000);
  window.receive(1000, at_ms(0));
  EXPECT_TRUE(window.consume(500, at_ms(19), 10ms));
  EXPECT_EQ(window.window(), 2000u);
  EXPECT_EQ(window.limit(), 2500u);
  window.receive(1500, at_ms(20));
  EXPECT_TRUE(window.consume(1500, at_ms(30), 10ms));
  EXPECT_EQ(window.window(), 3000u) << "not beyond the maximum";
}

TEST(ReceiveWindow, DoesNotGrowForASlowReader) {
  ReceiveWindow window(1000, 4000);
  window.receive(1000, at_ms(0));
  for (int turn = 1; turn < 10; ++turn) {
    EXPECT_TRUE(window.consume(500, at_ms(20 * turn), 10ms));
    window.announce();
    // The peer uses its credit at once.
    window.receive(500, at_ms(20 * turn));
  }
  EXPECT_EQ(window.window(), 1000u);
}

TEST(ReceiveWindow, DoublesWhenTheReaderWaitsForCreditToComeBack) {
  ReceiveWindow window(1000, 4000);
  window.receive(1000, at_ms(0));
  EXPECT_TRUE(window.consume(600, at_ms(500), 10ms));
  EXPECT_EQ(window.window(), 1000u);
  // Nothing was announced yet: the peer has no credit left, and all data has been read.
  EXPECT_TRUE(window.consume(400, at_ms(500), 10ms));
  EXPECT_EQ(window.window(), 2000u);
  EXPECT_EQ(window.announce(), 3000u);
  window.receive(1500, at_ms(900));
  EXPECT_TRUE(window.consume(1500, at_ms(900), 10ms));
  EXPECT_EQ(window.window(), 2000u) << "the peer has credit left, and does not use it";
}

TEST(ReceiveWindow, DoublesWhenHalfOfItWaitsBehindAGap) {
  ReceiveWindow window(1000, 3000);
  window.receive(1000, at_ms(0));
  EXPECT_FALSE(window.wait(500, at_ms(900)));
  EXPECT_TRUE(window.wait(501, at_ms(900)));
  EXPECT_EQ(window.limit(), 2000u);
  EXPECT_TRUE(window.wait(1001, at_ms(901)));
  EXPECT_EQ(window.limit(), 3000u);
  EXPECT_FALSE(window.wait(3000, at_ms(902))) << "not beyond the maximum";
}

TEST(ReceiveWindow, DoesNotGrowWithoutARoundTripTime) {
  ReceiveWindow window(1000, 4000);
  window.receive(1000, at_ms(0));
  EXPECT_TRUE(window.consume(1000, at_ms(0), Duration::zero()));
  EXPECT_EQ(window.window(), 1000u);
}

TEST(ReceiveWindow, WidensWithItsStreams) {
  ReceiveWindow window(1000, 4000);
  window.widen(3000);
  EXPECT_EQ(window.limit(), 1000u) << "with the next update";
  window.widen(9000);
  window.receive(1000, at_ms(0));
  EXPECT_TRUE(window.consume(10, at_ms(900), 10ms));
  EXPECT_EQ(window.limit(), 4010u);
}

TEST(ReceiveWindow, DoublesWhenOthersHoldTheCredit) {
  ReceiveWindow window(1000, 3000);
  window.receive(100, at_ms(0));
  EXPECT_FALSE(window.consume(100, at_ms(0), 10ms));
  EXPECT_FALSE(window.on_blocked_elsewhere(999)) << "an earlier limit";
  EXPECT_TRUE(window.on_blocked_elsewhere(1000));
  EXPECT_EQ(window.announce(), 2100u);
  EXPECT_FALSE(window.on_blocked_elsewhere(1000)) << "that it has not heard of";
  EXPECT_TRUE(window.on_blocked_elsewhere(2100));
  EXPECT_EQ(window.announce(), 3100u) << "never more than the largest window";
  EXPECT_FALSE(window.on_blocked_elsewhere(3100));
}

TEST(ReceiveWindow, DoesNotDoubleForAnApplicationThatDoesNotRead) {
  ReceiveWindow window(1000, 4000);
  window.receive(300, at_ms(0));
  EXPECT_FALSE(window.on_blocked_elsewhere(1000));
}

TEST(ReceiveWindow, OfSeveralStreamsLeavesUnreadBytesAside) {
  ReceiveWindow window(1600, 1600);
  window.serve_streams();
  window.receive(1600, at_ms(0));
  EXPECT_FALSE(window.consume(99, at_ms(1), 10ms));
  EXPECT_TRUE(window.consume(1, at_ms(1), 10ms)) << "a sixteenth";
  EXPECT_EQ(window.announce(), 1700u);
  window.receive(100, at_ms(2));
  EXPECT_TRUE(window.consume(100, at_ms(2), 10ms)) << "1500 stay unread for ever";
  EXPECT_EQ(window.announce(), 1800u);
}

TEST(ReceiveWindow, OfSeveralStreamsDoesNotGrowForUnreadBytes) {
  ReceiveWindow window(1600, 6400);
  window.serve_streams();
  window.receive(1600, at_ms(0));
  EXPECT_TRUE(window.consume(400, at_ms(1), 10ms));
  EXPECT_EQ(window.window(), 1600u);
  EXPECT_EQ(window.limit(), 2000u);
}

TEST(ReceiveWindow, OfOneStreamWaitsForHalfOfItsBytes) {
  ReceiveWindow window(1600, 1600);
  window.receive(1600, at_ms(0));
  EXPECT_FALSE(window.consume(799, at_ms(1), 10ms));
  EXPECT_TRUE(window.consume(1, at_ms(1), 10ms));
}

TEST(ReceiveWindow, NeverExceedsWhatAVarintHolds) {
  ReceiveWindow window(UINT64_MAX, UINT64_MAX);
  EXPECT_EQ(window.limit(), k_max_varint);
  window.receive(k_max_varint, at_ms(0));
  EXPECT_FALSE(window.consume(k_max_varint, at_ms(0), 1ms));
  EXPECT_EQ(window.limit(), k_max_varint);
}

TEST(ReceiveWindow, OfZeroBytesAllowsNothing) {
  ReceiveWindow window(0, 0);
  EXPECT_TRUE(window.allows(0));
  EXPECT_FALSE(window.allows(1));
  EXPECT_FALSE(window.consume(0, at_ms(0), 1ms));
}

}  // namespace
}  // namespace sheaf::quic
