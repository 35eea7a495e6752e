#include "emulation/codel.h"

#include <gtest/gtest.h>

#include "emulation/link_fixture.h"

namespace sheaf::quic {
namespace {

LinkConfig codel_link(std::uint64_t rate) {
  return {.queue_bytes = 1 << 20, .queue_discipline = QueueDisciplineKind::kCoDel, .rate = rate};
}

TEST(CoDel, ToleratesABurstOfLessThanAnInterval) {
  Link link(codel_link(8_mbps), 1);  // 1,000 bytes in 1 ms
  for (std::uint32_t i = 0; i < 90; ++i) send(link, i, at_ms(0));
  EXPECT_EQ(drain(link).size(), 90u);
}

TEST(CoDel, ToleratesAnyQueueBelowTheTarget) {
  Link link(codel_link(8_mbps), 1);
  std::vector<Arrived> arrived;
  for (std::uint32_t i = 0; i < 4000; ++i) {
    if (i % 4 == 0) {
      for (std::uint32_t j = 0; j < 4; ++j) send(link, i + j, at_ms(i));
    }
    receive(link, at_ms(i), arrived);
  }
  EXPECT_EQ(link.stats().queue_managed, 0u);
}

// RFC 8289 §5.5 and §5.6: the first drop comes an interval after the wait rose above the target,
// and later drops after interval / sqrt(n).
TEST(CoDel, DropsEverMoreOftenUnderOverload) {
  Link link(codel_link(8_mbps), 1);
  std::vector<Arrived> arrived;
  std::vector<std::int64_t> drops;
  for (std::int64_t ms = 0; ms < 600; ++ms) {
    send(link, 0, at_ms(ms));
    if (ms % 2 == 0) send(link, 0, at_ms(ms));  // 1.5 times the rate
    receive(link, at_ms(ms), arrived);
    while (drops.size() < link.stats().queue_managed) drops.push_back(ms);
  }
  ASSERT_GE(drops.size(), 5u);
  EXPECT_NEAR(static_cast<double>(drops[0]), 100 + 5 + 10, 10);
  const double expected[] = {100, 70.7, 57.7, 50};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(static_cast<double>(drops[i + 1] - drops[i]), expected[i], 2) << i;
  }
  EXPECT_EQ(link.stats().queue_full, 0u);
  expect_conservation(link);
}

TEST(CoDel, MarksEcnCapableDatagramsInstead) {
  Link link(codel_link(8_mbps), 1);
  std::vector<Arrived> arrived;
  for (std::int64_t ms = 0; ms < 600; ++ms) {
    for (int i = 0; i < 2; ++i) send(link, 0, at_ms(ms), 1000, Ecn::kEct0);
    receive(link, at_ms(ms), arrived);
  }
  EXPECT_GE(link.stats().marked, 5u);
  EXPECT_EQ(link.stats().queue_managed, 0u);
}

}  // namespace
}  // namespace sheaf::quic
