#include "congestion/outside_rate.h"

#include <gtest/gtest.h>

#include "congestion/window_driver.h"

namespace sheaf::quic {
namespace {

class OutsideRateTest : public ::testing::Test {
 protected:
  std::unique_ptr<CongestionController> controller_ = make_congestion_controller(
      {.algorithm = CongestionAlgorithm::kOutsideRate, .max_datagram_size = k_datagram});
  WindowDriver driver_{*controller_};
};

TEST_F(OutsideRateTest, StaysAtTheInitialWindowUntilItIsTold) {
  for (int i = 0; i < 5; ++i) driver_.round();
  EXPECT_EQ(controller_->window(), 10 * k_datagram);
  EXPECT_EQ(controller_->pacing_rate(), 0u);
}

TEST_F(OutsideRateTest, PacesAtTheRateAndTheWindowDoesNotLimit) {
  driver_.round();
  controller_->set_outside_rate(1'000'000);
  EXPECT_EQ(controller_->pacing_rate(), 1'000'000u);
  EXPECT_EQ(controller_->window(), 200'000u);  // twice 100 ms of it
  driver_.rtt = 300ms;
  driver_.round();
  EXPECT_EQ(controller_->window(), 600'000u);
  controller_->set_outside_rate(500'000);
  EXPECT_EQ(controller_->window(), 300'000u);
}

TEST_F(OutsideRateTest, LossAndMarksChangeNothing) {
  driver_.round();
  controller_->set_outside_rate(1'000'000);
  driver_.lose();
  driver_.mark(driver_.now);
  EXPECT_EQ(controller_->window(), 200'000u);
  EXPECT_EQ(controller_->pacing_rate(), 1'000'000u);
}

TEST_F(OutsideRateTest, BacksOffWhenNothingArrivesAndComesBack) {
  driver_.round();
  controller_->set_outside_rate(1'000'000);
  driver_.lose(/*persistent=*/true);
  EXPECT_EQ(controller_->window(), 2 * k_datagram);
  controller_->set_outside_rate(2'000'000);  // news from outside are no acknowledgement
  EXPECT_EQ(controller_->window(), 2 * k_datagram);
  driver_.round();
  EXPECT_EQ(controller_->window(), 4 * k_datagram);
  for (int i = 0; i < 10; ++i) driver_.round();
  EXPECT_EQ(controller_->window(), 400'000u);
}

TEST_F(OutsideRateTest, CreditTakesThePlaceOfTheWindow) {
  driver_.round();
  controller_->set_outside_rate(1'000'000);
  controller_->set_outside_credit(3 * k_datagram);
  EXPECT_EQ(controller_->window(), 3 * k_datagram);
  controller_->on_packet_sent(driver_.now, 1000, k_datagram, k_datagram);
  EXPECT_EQ(controller_->window(), 3 * k_datagram);  // one in flight, and credit for two
  controller_->on_packet_sent(driver_.now, 1001, 2 * k_datagram, 3 * k_datagram);
  EXPECT_EQ(controller_->window(), 3 * k_datagram);  // nothing may be sent any more
  controller_->set_outside_credit(k_datagram);
  EXPECT_EQ(controller_->window(), 4 * k_datagram);
}

TEST_F(OutsideRateTest, NothingIsLeftOfCreditWhenNothingArrives) {
  driver_.round();
  controller_->set_outside_credit(100 * k_datagram);
  driver_.lose(/*persistent=*/true);
  const std::uint64_t without = controller_->window();
  controller_->set_outside_credit(5 * k_datagram);
  EXPECT_EQ(controller_->window(), without + 5 * k_datagram);
}

TEST_F(OutsideRateTest, AbsurdRatesDoNotOverflow) {
  controller_->set_outside_rate(UINT64_MAX);
  EXPECT_EQ(controller_->window(), k_max_congestion_window);
  EXPECT_EQ(controller_->pacing_rate(), UINT64_MAX);
}

TEST(CongestionController, OthersIgnoreAnOutsideRate) {
  for (const CongestionAlgorithm algorithm :
       {CongestionAlgorithm::kNewReno, CongestionAlgorithm::kCubic, CongestionAlgorithm::kBbr,
        CongestionAlgorithm::kOlia, CongestionAlgorithm::kNone}) {
    const auto controller = make_congestion_controller({.algorithm = algorithm});
    const std::uint64_t window = controller->window(), rate = controller->pacing_rate();
    controller->set_outside_rate(1);
    EXPECT_EQ(controller->window(), window);
    EXPECT_EQ(controller->pacing_rate(), rate);
  }
}

TEST(CongestionController, HasItsName) {
  const auto name = [](CongestionAlgorithm algorithm) {
    return std::string(make_congestion_controller({.algorithm = algorithm})->name());
  };
  EXPECT_EQ(name(CongestionAlgorithm::kBbr), "bbr");
  EXPECT_EQ(name(CongestionAlgorithm::kOlia), "olia");
  EXPECT_EQ(name(CongestionAlgorithm::kOutsideRate), "outside_rate");
}

}  // namespace
}  // namespace sheaf::quic
