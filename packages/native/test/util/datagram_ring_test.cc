#include "util/datagram_ring.h"

#include <gtest/gtest.h>

#include <deque>

#include "util/random.h"

namespace sheaf::quic {
namespace {

std::vector<std::uint8_t> filled(std::size_t size, std::uint64_t seed) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(seed * 31 + i);
  return bytes;
}

TEST(DatagramRing, GivesWhatItTookInOrder) {
  DatagramRing ring(1000);
  EXPECT_FALSE(ring.pop());
  EXPECT_TRUE(ring.push(filled(3, 1), 7));
  EXPECT_TRUE(ring.push({}, 8));
  EXPECT_EQ(ring.size(), 2u);
  EXPECT_EQ(ring.front()->tag, 7u);
  const auto first = ring.pop();
  EXPECT_TRUE(std::ranges::equal(first->payload, filled(3, 1)));
  EXPECT_EQ(ring.pop()->tag, 8u);
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.bytes(), 0u);
}

TEST(DatagramRing, IsBoundedByBytesAlsoForEmptyDatagrams) {
  DatagramRing ring(100 * DatagramRing::k_overhead);
  std::size_t taken = 0;
  while (ring.push({}, taken)) ++taken;
  EXPECT_GE(taken, 100u);
  EXPECT_LE(taken, 150u);
  EXPECT_LE(ring.bytes(), ring.limit());
  EXPECT_FALSE(ring.push({}, 0));
  ring.pop();
  EXPECT_TRUE(ring.push({}, 0));
  DatagramRing small(100);
  EXPECT_FALSE(small.push(filled(100, 1), 1)) << "larger than all there may be";
  EXPECT_TRUE(small.push(filled(70, 1), 1));
}

TEST(DatagramRing, ALowerLimitKeepsWhatIsThere) {
  DatagramRing ring(10000);
  const std::vector<std::uint8_t> datagram(1000, 1);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(ring.push(datagram, 0));
  ring.set_limit(3000);
  EXPECT_FALSE(ring.push(datagram, 0));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ring.pop());
  EXPECT_FALSE(ring.push(datagram, 0));  // two and their headers leave no room for a third
  EXPECT_TRUE(ring.pop());
  EXPECT_TRUE(ring.push(datagram, 0));
}

TEST(DatagramRing, GivesTheMemoryOfABurstBack) {
  DatagramRing ring(512 << 10);
  ring.push(filled(1000, 1), 1);
  ring.pop();
  const std::size_t few = ring.allocated();
  ring.release_spare();
  EXPECT_EQ(ring.allocated(), few) << "what is used all the time stays";
  while (ring.push(filled(1000, 2), 2)) {
  }
  EXPECT_GE(ring.allocated(), 500u << 10);
  ring.release_spare();
  EXPECT_TRUE(std::ranges::equal(ring.front()->payload, filled(1000, 2))) << "it is not empty";
  while (ring.pop()) {
  }
  ring.release_spare();
  EXPECT_EQ(ring.allocated(), 0u);
  EXPECT_TRUE(ring.push(filled(1000, 3), 3));
  EXPECT_TRUE(std::ranges::equal(ring.pop()->payload, filled(1000, 3)));
}

// Compares with a plain queue, with sizes that leave the array's end unused in every possible way.
TEST(DatagramRing, IsAQueueWhateverTheSizes) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    DatagramRing ring(20'000);
    std::deque<std::pair<std::vector<std::uint8_t>, std::uint64_t>> model;
    for (std::uint64_t step = 0; step < 3000; ++step) {
      const bool push = random.below(100) < (step / 500 % 2 == 0 ? 60 : 40);
      if (push) {
        const auto payload = filled(random.below(random.below(10) == 0 ? 9000 : 300), step);
        if (ring.push(payload, step)) {
          model.emplace_back(payload, step);
        } else {
          EXPECT_GT(ring.bytes() + payload.size() + DatagramRing::k_overhead, ring.limit() / 2);
        }
      } else if (const auto entry = ring.pop()) {
        ASSERT_FALSE(model.empty());
        ASSERT_TRUE(std::ranges::equal(entry->payload, model.front().first));
        ASSERT_EQ(entry->tag, model.front().second);
        model.pop_front();
      } else {
        ASSERT_TRUE(model.empty());
      }
      ASSERT_EQ(ring.size(), model.size());
      ASSERT_LE(ring.bytes(), ring.limit());
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
