#include "congestion/cubic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "congestion/window_driver.h"

namespace sheaf::quic {
namespace {

class CubicTest : public ::testing::Test {
 protected:
  double packets() const { return static_cast<double>(cubic_.window()) / k_datagram; }
  // Grows to `target` in slow start, followed by one loss.
  void grow_and_lose(double target) {
    while (packets() < target) driver_.round();
    driver_.lose();
    driver_.now += 1ms;  // what is sent in the same instant belongs to the recovery period
  }

  Cubic cubic_{{.max_datagram_size = k_datagram}};
  WindowDriver driver_{cubic_};
};

TEST_F(CubicTest, ShrinksToSeventyPercent) {
  grow_and_lose(1000);
  EXPECT_NEAR(packets(), 1280 * 0.7, 1);
}

// RFC 9438 §4.2: the window is back at W_max after K = cbrt(W_max * (1 - beta) / C), flat there,
// and then larger.
TEST_F(CubicTest, FollowsTheCubicCurve) {
  driver_.rtt = 200ms;  // long enough that Reno is slower all the way
  grow_and_lose(1000);
  const double maximum = 1280;
  const double k = std::cbrt(maximum * 0.3 / 0.4);
  const Time start = driver_.now + driver_.rtt;
  bool passed_half = false, passed_k = false, passed_later = false;
  for (int i = 0; i < 120; ++i) {
    driver_.round();
    const double elapsed = std::chrono::duration<double>(driver_.now - start).count();
    const double expected = 0.4 * std::pow(elapsed - k, 3) + maximum;
    if (elapsed < 0.5) continue;
    EXPECT_NEAR(packets(), expected, expected * 0.05) << elapsed;
    passed_half |= elapsed > k / 2;
    passed_k |= elapsed > k;
    passed_later |= elapsed > 1.5 * k;
  }
  EXPECT_TRUE(passed_half && passed_k && passed_later) << k;
}

// Where packets make a detour, the rate is that without it: on Reno's part of the window (§4.3) as
// on the curve (§4.2).
TEST_F(CubicTest, YieldsTheSameRateInSpiteOfADetour) {
  constexpr double k_detour = 1.5;
  for (const auto& [rtt, lost_at] : {std::pair(40ms, 40.0), std::pair(200ms, 1000.0)}) {
    SCOPED_TRACE(rtt.count());
    Cubic direct{{.max_datagram_size = k_datagram}};
    Cubic detour{{.max_datagram_size = k_datagram}};
    WindowDriver direct_driver{direct};
    WindowDriver detour_driver{detour};
    for (WindowDriver* driver : {&direct_driver, &detour_driver}) {
      const Cubic& controller = driver == &direct_driver ? direct : detour;
      while (static_cast<double>(controller.window()) < lost_at * k_datagram) driver->round();
      driver->lose();
      driver->now += 1ms;
    }
    detour.set_detour(k_detour);
    direct_driver.rtt = rtt;
    detour_driver.rtt = rtt * 3 / 2;
    for (int i = 0; i < 20; ++i) {
      for (int j = 0; j < 3; ++j) direct_driver.round();
      for (int j = 0; j < 2; ++j) detour_driver.round();
      const auto expected = k_detour * static_cast<double>(direct.window());
      EXPECT_NEAR(static_cast<double>(detour.window()), expected, 0.04 * expected) << i;
    }
    const auto before = static_cast<double>(detour.window());
    detour.set_detour(1);
    EXPECT_NEAR(static_cast<double>(detour.window()), before / k_detour, 1);
  }
}

TEST_F(CubicTest, IsAsFastAsRenoOnShortPaths) {
  driver_.rtt = 2ms;
  grow_and_lose(40);
  const double after_loss = packets();
  for (int i = 0; i < 20; ++i) driver_.round();
  // 3 * 0.3 / 1.7 = 0.53 datagrams for each round trip; the curve alone would still be below W_max.
  EXPECT_NEAR(packets(), after_loss + 0.53 * 20, 2);
}

TEST_F(CubicTest, ConvergesFasterWhenItLosesBelowItsMaximum) {
  driver_.rtt = 200ms;
  grow_and_lose(1000);
  driver_.lose();
  driver_.now += 1ms;
  // W_max is now 0.85 of the window before, which was 0.7 * 1280.
  const double maximum = 1280 * 0.7 * 0.85;
  const double k = std::cbrt((maximum - 1280 * 0.49) / 0.4);
  const Time start = driver_.now + driver_.rtt;
  while (driver_.now - start < std::chrono::duration<double>(k)) driver_.round();
  EXPECT_NEAR(packets(), maximum, maximum * 0.03);
}

TEST_F(CubicTest, IdleTimeDoesNotMoveAlongTheCurve) {
  Cubic other({.max_datagram_size = k_datagram});
  WindowDriver other_driver(other);
  for (WindowDriver* driver : {&driver_, &other_driver}) {
    for (int i = 0; i < 7; ++i) driver->round();
    driver->lose();
    driver->now += 1ms;
    for (int i = 0; i < 10; ++i) driver->round();
  }
  ASSERT_EQ(cubic_.window(), other.window());
  driver_.now += 60s;
  for (WindowDriver* driver : {&driver_, &other_driver}) driver->round();
  EXPECT_NEAR(packets(), static_cast<double>(other.window()) / k_datagram, 2);
}

TEST_F(CubicTest, SpuriousLossRestoresTheCurve) {
  driver_.rtt = 200ms;
  grow_and_lose(1000);
  for (int i = 0; i < 5; ++i) driver_.round();
  const double before = packets();
  driver_.lose();
  cubic_.on_spurious_congestion(driver_.now);
  EXPECT_NEAR(packets(), before, 0.01);
  driver_.now += 1ms;
  for (int i = 0; i < 60; ++i) driver_.round();
  EXPECT_GT(packets(), 1280);
}

}  // namespace
}  // namespace sheaf::quic
