#include "direct_return/own_recovery/shared_window.h"

#include <gtest/gtest.h>

#include "direct_return/own_recovery/times.h"

namespace sheaf::quic {
namespace {

constexpr PathId k_one{1}, k_two{3};

CongestionConfig reno() { return {.algorithm = CongestionAlgorithm::kNewReno}; }

SenderState busy() {
  return {.minimum_rtt = 40ms,
          .smoothed_rtt = 40ms,
          .acknowledged_epoch = 1,
          .wants = true,
          .limited = true};
}

TEST(SharedWindow, IsDividedAmongThoseWithSomethingToSend) {
  SharedWindow window(reno());
  const std::uint64_t all = window.window();
  window.open(k_one);
  window.open(k_two);
  window.expect(k_one);
  EXPECT_EQ(window.share(k_one), all);
  EXPECT_EQ(window.share(k_two), all / 2) << "if it had something";
  window.expect(k_two);
  EXPECT_EQ(window.share(k_one), all / 2);
  EXPECT_EQ(window.share(k_two), all / 2);
  // The first has sent everything, and some of it is on the way.
  SenderState state = busy();
  state.wants = false;
  state.next = 3;
  state.in_flight = 3000;
  EXPECT_TRUE(window.on_state(k_one, state, at(0ms)));
  EXPECT_EQ(window.share(k_two), all - 3000);
  // The gateway's own packets are a part of the connection, too, and starve nobody.
  window.note_own(1000);
  EXPECT_EQ(window.share(k_two), all - 4000);
  window.note_own(2 * all);
  EXPECT_EQ(window.share(k_two), all - all / 2);
  window.note_own(0);
  window.close(k_one);
  EXPECT_EQ(window.share(k_two), all);
}

TEST(SharedWindow, GrowsByWhatAnyDelivers) {
  SharedWindow window(reno());
  window.open(k_one);
  const std::uint64_t before = window.window();
  SenderState state = busy();
  state.next = 10;
  state.in_flight = 12'000;
  window.on_state(k_one, state, at(0ms));
  state.delivered = 12'000;
  state.acknowledged_end = 10;
  state.in_flight = 0;
  window.on_state(k_one, state, at(40ms));
  EXPECT_EQ(window.window(), before + 12'000) << "slow start";
  // A message that comes late or again changes nothing.
  EXPECT_FALSE(window.on_state(k_one, state, at(41ms)));
  state.delivered = 6'000;
  EXPECT_FALSE(window.on_state(k_one, state, at(42ms)));
  EXPECT_EQ(window.window(), before + 12'000);
  // Nor does one that had not used its share.
  state.delivered = 24'000;
  state.next = 20;
  state.limited = false;
  window.on_state(k_one, state, at(80ms));
  EXPECT_EQ(window.window(), before + 12'000);
}

TEST(SharedWindow, IsLoweredOnceForEachRoundTripWhoeverLost) {
  SharedWindow window(reno());
  window.open(k_one);
  window.open(k_two);
  const std::uint64_t before = window.window();
  SenderState one = busy(), two = busy();
  one.next = two.next = 10;
  one.congested_epoch = two.congested_epoch = 1;
  EXPECT_TRUE(window.on_state(k_one, one, at(0ms)));
  EXPECT_EQ(window.window(), before / 2);
  EXPECT_EQ(window.epoch(), 2u);
  // Both losses happened before anybody knew of the first.
  window.on_state(k_two, two, at(3ms));
  window.on_state(k_one, one, at(4ms));
  EXPECT_EQ(window.window(), before / 2);
  // What was sent in the first epoch does not make the window of the second one grow.
  one.delivered = 5'000;
  window.on_state(k_one, one, at(5ms));
  EXPECT_EQ(window.window(), before / 2);
  two.congested_epoch = 2;
  window.on_state(k_two, two, at(50ms));
  EXPECT_EQ(window.epoch(), 3u);
  EXPECT_LT(window.window(), before / 2);
}

TEST(SharedWindow, CollapsesWhenNothingArrivesForLong) {
  SharedWindow window(reno());
  window.open(k_one);
  SenderState one = busy();
  one.congested_epoch = 1;
  one.persistent = true;
  window.on_state(k_one, one, at(0ms));
  EXPECT_EQ(window.window(), 2 * CongestionConfig{}.max_datagram_size);
}

}  // namespace
}  // namespace sheaf::quic
