#include "congestion/guided.h"

#include <gtest/gtest.h>

#include "congestion/window_driver.h"

namespace sheaf::quic {
namespace {

class GuidedTest : public ::testing::Test {
 protected:
  void guide(std::uint64_t rate, std::uint64_t bytes, Duration lasts = std::chrono::seconds(1)) {
    controller_.set_guidance(
        {.now = driver_.now, .until = driver_.now + lasts, .rate = rate, .bytes = bytes});
  }
  GuidedController controller_{make_congestion_controller({.max_datagram_size = k_datagram}),
                               k_datagram};
  WindowDriver driver_{controller_};
};

TEST_F(GuidedTest, IsAnOrdinaryControllerWithoutGuidance) {
  const auto ordinary = make_congestion_controller({.max_datagram_size = k_datagram});
  WindowDriver beside(*ordinary);
  for (int i = 0; i < 6; ++i) {
    driver_.round();
    beside.round();
    EXPECT_EQ(controller_.window(), ordinary->window());
    EXPECT_EQ(controller_.pacing_rate(), ordinary->pacing_rate());
  }
  EXPECT_STREQ(controller_.name(), ordinary->name());
}

TEST_F(GuidedTest, SendsNoMoreThanTheTunnelTakes) {
  for (int i = 0; i < 3; ++i) driver_.round();
  const std::uint64_t own = controller_.window();
  ASSERT_GT(own, 40 * k_datagram);
  guide(100'000, 4 * k_datagram);
  controller_.on_packet_sent(driver_.now, 1000, k_datagram, k_datagram);
  EXPECT_EQ(controller_.window(), 4 * k_datagram);  // one in flight, three more
  EXPECT_EQ(controller_.pacing_rate(), 100'000u);
}

// A client that says that its tunnel is faster than it is
TEST_F(GuidedTest, AReportThatLiesGainsNothing) {
  const auto ordinary = make_congestion_controller({.max_datagram_size = k_datagram});
  WindowDriver beside(*ordinary);
  for (int i = 0; i < 6; ++i) {
    guide(std::uint64_t{1} << 60, std::uint64_t{1} << 60);
    driver_.round();
    beside.round();
    EXPECT_EQ(controller_.window(), ordinary->window());
    // Twice the window in a round trip, as the pacer does by itself
    EXPECT_LE(controller_.pacing_rate(), 20 * controller_.window());
  }
  driver_.lose();
  beside.lose();
  EXPECT_EQ(controller_.window(), ordinary->window());
}

TEST_F(GuidedTest, AWindowThatGuidanceKeepsSmallDoesNotGrowBehindIt) {
  for (int i = 0; i < 3; ++i) driver_.round();
  const std::uint64_t own = controller_.window();
  for (int i = 0; i < 20; ++i) {
    guide(100'000, 2 * k_datagram);
    driver_.round();
  }
  driver_.now += std::chrono::seconds(5);
  driver_.round();
  EXPECT_LE(controller_.window(), own + 4 * k_datagram);
}

TEST_F(GuidedTest, GuidanceEndsByItself) {
  for (int i = 0; i < 3; ++i) driver_.round();
  const std::uint64_t own = controller_.window();
  guide(100'000, 0, std::chrono::milliseconds(150));
  EXPECT_EQ(controller_.window(), 2 * k_datagram);  // never none, or nothing would tell the time
  driver_.round();
  EXPECT_EQ(controller_.window(), 2 * k_datagram);
  driver_.round();
  EXPECT_GE(controller_.window(), own);
}

}  // namespace
}  // namespace sheaf::quic
