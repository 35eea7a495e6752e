#include "util/ring.h"

#include <gtest/gtest.h>

#include <deque>

#include "util/random.h"

namespace sheaf::quic {
namespace {

TEST(Ring, BehavesLikeAQueue) {
  SeededRandom random(1);
  Ring<int> ring;
  std::deque<int> reference;
  for (int step = 0; step < 10'000; ++step) {
    if (reference.empty() || random.below(100) < 52) {
      ring.push_back(step);
      reference.push_back(step);
    } else {
      ring.pop_front();
      reference.pop_front();
    }
    ASSERT_EQ(ring.size(), reference.size());
    if (reference.empty()) continue;
    ASSERT_EQ(ring.front(), reference.front());
    ASSERT_EQ(ring.back(), reference.back());
    const std::size_t index = random.below(reference.size());
    ASSERT_EQ(ring[index], reference[index]);
  }
}

TEST(Ring, GivesBackWhatLeftElementsOwn) {
  Ring<std::shared_ptr<int>> ring;
  const auto owned = std::make_shared<int>(1);
  for (int i = 0; i < 3; ++i) ring.push_back(owned);
  ring.pop_front();
  EXPECT_EQ(owned.use_count(), 3);
  ring.clear();
  EXPECT_EQ(owned.use_count(), 1);
}

TEST(Ring, TakesOutThoseThatMatch) {
  SeededRandom random(2);
  Ring<std::shared_ptr<std::uint64_t>> ring;
  std::deque<std::shared_ptr<std::uint64_t>> reference;
  for (int step = 0; step < 2000; ++step) {
    const auto element = std::make_shared<std::uint64_t>(random.below(10));
    ring.push_back(element);
    reference.push_back(element);
    if (step % 50 == 0) {
      const std::uint64_t least = random.below(10);
      const auto matches = [&](const auto& other) { return *other >= least; };
      ring.erase_if(matches);
      std::erase_if(reference, matches);
      EXPECT_EQ(element.use_count(), matches(element) ? 1 : 3) << "what left is given back";
    } else if (random.below(4) == 0) {
      ring.pop_front();
      reference.pop_front();
    }
    ASSERT_EQ(ring.size(), reference.size());
    for (std::size_t i = 0; i < ring.size(); ++i) ASSERT_EQ(ring[i], reference[i]);
  }
}

TEST(Ring, KeepsItsArrayUnlessItIsLarge) {
  Ring<int> ring;
  for (int i = 0; i < 20; ++i) ring.push_back(i);
  ring.clear_and_keep(32);
  EXPECT_EQ(ring.capacity(), 32u);
  ring.clear_and_keep(16);
  EXPECT_EQ(ring.capacity(), 0u);
  ring.push_back(7);
  EXPECT_EQ(ring.front(), 7);
}

}  // namespace
}  // namespace sheaf::quic
