#include <gtest/gtest.h>

#include "congestion/controller.h"
#include "congestion/window_driver.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

// Checks that every controller keeps a usable window and rate whatever happens, plausible or not.
class RandomEventsTest : public ::testing::TestWithParam<CongestionAlgorithm> {
 protected:
  void run(std::uint64_t seed, int events) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    controller_ = make_congestion_controller(
        {.algorithm = GetParam(), .max_datagram_size = datagram_ = 1200, .seed = seed});
    for (int i = 0; i < events; ++i) {
      // Mostly fractions of a round trip, and sometimes a day.
      now_ += Duration(static_cast<std::int64_t>(magnitude(random, 47)));
      one_event(random);
      check();
      if (HasFatalFailure()) return;
    }
  }

 private:
  static std::uint64_t magnitude(Random& random, std::uint64_t bits) {
    return random.next() >> (63 - random.below(bits));
  }
  static Duration duration(Random& random) {
    return Duration(static_cast<std::int64_t>(magnitude(random, 45)));
  }

  void one_event(Random& random) {
    switch (random.below(12)) {
      case 0:
        return controller_->on_spurious_congestion(now_);
      case 1:
        datagram_ = 1200 + random.below(8000);
        return controller_->on_mtu_change(datagram_);
      case 2:
        return controller_->set_outside_rate(magnitude(random, 63));
      case 3:
      case 4:
        return lose(random);
      case 5:
      case 6:
        return controller_->on_packet_sent(
            now_, number_++, datagram_, datagram_ * (1 + random.below(2) * magnitude(random, 20)));
      default:
        return acknowledge(random);
    }
  }
  void lose(Random& random) {
    const std::uint64_t in_flight = magnitude(random, 40);
    const bool ecn = random.below(4) == 0;
    for (std::uint64_t left = ecn ? 0 : 1 + random.below(20); left > 0; --left) {
      controller_->on_packet_lost({.now = now_,
                                   .time_sent = now_ - duration(random),
                                   .number = number_ += random.below(3),
                                   .bytes = datagram_,
                                   .in_flight_at_send = in_flight,
                                   .lost_since_send = magnitude(random, 40),
                                   .delivered = delivered_,
                                   .application_limited = random.below(2) == 0});
    }
    controller_->on_congestion({.now = now_,
                                .lost_bytes = magnitude(random, 30),
                                .bytes_in_flight = in_flight,
                                .largest_lost = number_,
                                .largest_lost_time_sent = now_ - duration(random),
                                .persistent = !ecn && random.below(5) == 0,
                                .ecn = ecn});
  }
  void acknowledge(Random& random) {
    const std::uint64_t bytes = 1 + magnitude(random, 33);
    const auto samples = static_cast<std::uint32_t>(random.below(4));
    delivered_ += bytes;
    controller_->on_acknowledgement(
        {.now = now_,
         .acknowledged_bytes = bytes,
         .bytes_in_flight_before = bytes + magnitude(random, 40),
         .bytes_in_flight = magnitude(random, 40),
         .largest_acknowledged = number_,
         .largest_time_sent = now_ - duration(random),
         .smallest_rtt = samples == 0 ? Duration::zero() : duration(random),
         .rtt_samples = samples,
         .min_rtt = duration(random),
         .smoothed_rtt = Duration(1) + duration(random),
         .delivery_rate = random.below(4) == 0 ? 0 : magnitude(random, 63),
         .delivery_rate_application_limited = random.below(4) == 0,
         .delivered = delivered_,
         .delivered_at_send = delivered_ - std::min(delivered_, magnitude(random, 40)),
         .in_flight_at_send = magnitude(random, 40),
         .lost_since_send = random.below(2) * magnitude(random, 40),
         .application_limited = random.below(3) == 0});
  }
  void check() const {
    const bool bbr =
        GetParam() == CongestionAlgorithm::kBbr || GetParam() == CongestionAlgorithm::kBbrV1;
    ASSERT_GE(controller_->window(), (bbr ? 4 : 2) * datagram_);
    ASSERT_LE(controller_->window(), k_max_congestion_window);
    if (!bbr) return;
    ASSERT_GT(controller_->pacing_rate(), 0u);
    ASSERT_LE(controller_->pacing_rate(), 1'000'000'000'000u);
  }

  std::unique_ptr<CongestionController> controller_;
  std::uint64_t datagram_ = 1200;
  Time now_ = at_ms(1000);
  PacketNumber number_ = 0;
  std::uint64_t delivered_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Algorithms, RandomEventsTest,
                         ::testing::Values(CongestionAlgorithm::kNewReno,
                                           CongestionAlgorithm::kCubic, CongestionAlgorithm::kBbr,
                                           CongestionAlgorithm::kBbrV1, CongestionAlgorithm::kOlia,
                                           CongestionAlgorithm::kOutsideRate),
                         [](const auto& parameter) {
                           return std::string(
                               make_congestion_controller({.algorithm = parameter.param})->name());
                         });

TEST_P(RandomEventsTest, WindowAndRateStayUsable) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    run(seed, 2000);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace sheaf::quic
