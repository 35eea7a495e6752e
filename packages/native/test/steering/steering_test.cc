#include "steering/steering.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace sheaf::quic {
namespace {

ConnectionId random_id(std::size_t length, Random& random) {
  ConnectionId id;
  id.length = static_cast<std::uint8_t>(length);
  random.fill({id.bytes.data(), id.length});
  return id;
}

TEST(Steering, MarkedIdsLeadToTheirWorker) {
  SeededRandom random(1);
  for (const std::size_t length : {5u, 8u, 11u, 20u}) {
    for (unsigned workers = 1; workers <= Steering::k_max_workers; ++workers) {
      const Steering steering(workers, length, Steering::random_key(random));
      for (unsigned worker = 0; worker < workers; ++worker) {
        ConnectionId id = random_id(length, random);
        steering.mark(id, worker, random);
        EXPECT_EQ(steering.worker_of(id.view()), worker);
      }
    }
  }
}

TEST(Steering, ShortIdsLeadNowhereAndLongOnesAreReadAtTheSamePlace) {
  SeededRandom random(2);
  const Steering steering(7, 8, Steering::random_key(random));
  EXPECT_FALSE(steering.worker_of({}));
  EXPECT_FALSE(steering.worker_of(random_id(7, random).view()));
  const ConnectionId id = random_id(20, random);
  EXPECT_EQ(steering.worker_of(id.view()), steering.worker_of(id.view().first(8)));
}

TEST(Steering, RandomIdsSpreadOverAllWorkers) {
  SeededRandom random(3);
  for (const unsigned workers : {2u, 3u, 48u, 64u}) {
    const Steering steering(workers, 8, Steering::random_key(random));
    std::map<unsigned, int> counts;
    constexpr int k_each = 200;
    for (unsigned i = 0; i < workers * k_each; ++i)
      ++counts[*steering.worker_of(random_id(8, random).view())];
    ASSERT_EQ(counts.size(), workers);
    // Of 256 values each worker has four to six where there are 48, so that shares differ.
    for (const auto& [worker, count] : counts) {
      EXPECT_GT(count, k_each / 2) << worker;
      EXPECT_LT(count, k_each * 2) << worker;
    }
  }
}

TEST(Steering, IdsOfOneWorkerDoNotLookAlike) {
  SeededRandom random(4);
  const Steering steering(4, 8, Steering::random_key(random));
  std::set<std::uint8_t> seen;
  for (int i = 0; i < 500; ++i) {
    ConnectionId id = random_id(8, random);
    steering.mark(id, 2, random);
    seen.insert(id.bytes[7]);
  }
  EXPECT_GT(seen.size(), 150u);
}

}  // namespace
}  // namespace sheaf::quic
