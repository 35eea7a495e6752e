#include "congestion/new_reno.h"

#include <gtest/gtest.h>

#include "congestion/window_driver.h"

namespace sheaf::quic {
namespace {

TEST(NewReno, HalvesAndThenGrowsByADatagramPerRoundTrip) {
  NewReno reno({.max_datagram_size = k_datagram});
  WindowDriver driver(reno);
  for (int i = 0; i < 4; ++i) driver.round();
  ASSERT_EQ(reno.window(), 160 * k_datagram);
  driver.lose();
  EXPECT_EQ(reno.window(), 80 * k_datagram);
  driver.now += 1ms;  // what is sent in the same instant belongs to the recovery period
  for (int i = 0; i < 10; ++i) driver.round();
  EXPECT_NEAR(static_cast<double>(reno.window()) / k_datagram, 90, 0.5);
}

}  // namespace
}  // namespace sheaf::quic
