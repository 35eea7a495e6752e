#include "util/flat_map.h"

#include <gtest/gtest.h>

#include <map>

#include "util/random.h"

namespace sheaf::quic {
namespace {

TEST(FlatMap, BehavesLikeAMap) {
  SeededRandom random(2);
  FlatMap<int> map;
  std::map<std::uint64_t, int> reference;
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_FALSE(map.erase(0));
  for (int step = 0; step < 50'000; ++step) {
    // The keys are so few that chains form, break and wrap around.
    const std::uint64_t key = random.below(200) * 4;
    const auto known = reference.find(key);
    const int* found = map.find(key);
    ASSERT_EQ(found != nullptr, known != reference.end());
    if (known == reference.end()) {
      map.insert(key, step);
      reference[key] = step;
    } else {
      ASSERT_EQ(*found, known->second);
      ASSERT_TRUE(map.erase(key));
      reference.erase(known);
    }
    ASSERT_EQ(map.size(), reference.size());
  }
  std::map<std::uint64_t, int> visited;
  map.for_each([&](std::uint64_t key, int value) { visited[key] = value; });
  EXPECT_EQ(visited, reference);
}

}  // namespace
}  // namespace sheaf::quic
