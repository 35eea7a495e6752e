#include "emulation/arrival_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "emulation/link_fixture.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

struct Expected {
  Time when;
  std::size_t number;
};

// What is added at any times comes out as a stable sort puts it.
TEST(ArrivalQueue, GivesTheEarliestFirstAndKeepsTheOrderOfOneInstant) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    DatagramPool pool;
    ArrivalQueue queue;
    std::vector<Expected> expected;
    for (std::size_t i = 0; i < 200; ++i) {
      // Most keep the order; many come at the same instant.
      const Time when = at_ms(static_cast<std::int64_t>(i / 8 + random.next() % 3));
      queue.add(when, pool.take(Bytes{}, {.path = {}, .tag = i}));
      expected.push_back({when, i});
    }
    std::ranges::stable_sort(expected, {}, &Expected::when);
    EXPECT_EQ(queue.size(), expected.size());
    for (const Expected& next : expected) {
      ASSERT_EQ(queue.next(), next.when);
      EXPECT_EQ(queue.take(next.when - std::chrono::nanoseconds(1)), nullptr);
      const LinkDatagramPointer datagram = queue.take(next.when);
      ASSERT_NE(datagram, nullptr);
      EXPECT_EQ(datagram->header.tag, next.number);
    }
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.next(), k_never);
  }
}

}  // namespace
}  // namespace sheaf::quic
