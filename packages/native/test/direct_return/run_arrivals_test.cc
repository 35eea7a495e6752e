#include "direct_return/run_arrivals.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "util/random.h"

namespace sheaf::quic {
namespace {

class RunArrivalsTest : public ::testing::Test {
 protected:
  bool take(std::uint64_t number) { return arrivals_.take(number, now_); }
  std::vector<std::uint64_t> told() {
    std::vector<std::uint64_t> numbers;
    for (const VoidRuns& one : arrivals_.poll(now_)) numbers.push_back(one.datagram);
    return numbers;
  }

  using Numbers = std::vector<std::uint64_t>;
  Time now_{1s};
  RunArrivals arrivals_;
};

TEST_F(RunArrivalsTest, TellsNothingWhileAllComeInOrder) {
  for (std::uint64_t number = 0; number < 1'000; ++number) EXPECT_TRUE(take(number));
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(arrivals_.next(), k_never);
}

TEST_F(RunArrivalsTest, OneIsVoidAfterThreeLaterOnes) {
  EXPECT_TRUE(take(0));
  EXPECT_TRUE(take(2));
  EXPECT_TRUE(take(4));
  EXPECT_TRUE(told().empty());
  EXPECT_TRUE(take(3));  // it was overtaken by one alone
  EXPECT_EQ(told(), Numbers{1});
  EXPECT_FALSE(take(1));
}

TEST_F(RunArrivalsTest, OneIsVoidAfterAWhile) {
  EXPECT_TRUE(take(1));
  EXPECT_EQ(arrivals_.next(), now_ + RunArrivals::k_patience);
  now_ += RunArrivals::k_patience - 1us;
  EXPECT_TRUE(told().empty());
  now_ += 1us;
  EXPECT_FALSE(take(0));
  EXPECT_EQ(told(), Numbers{0});
}

TEST_F(RunArrivalsTest, OneThatComesLateIsTakenOnce) {
  EXPECT_TRUE(take(1));
  EXPECT_TRUE(take(0));
  EXPECT_FALSE(take(0));
  EXPECT_FALSE(take(1));
  now_ += 1s;
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(arrivals_.next(), k_never);
}

TEST_F(RunArrivalsTest, TellsEachThreeTimes) {
  EXPECT_TRUE(take(1));
  now_ += RunArrivals::k_patience;
  for (int i = 0; i < RunArrivals::k_tellings; ++i) {
    EXPECT_LE(arrivals_.next(), now_);
    EXPECT_EQ(told(), Numbers{0});
    EXPECT_TRUE(told().empty());
    now_ += RunArrivals::k_between_tellings;
  }
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(arrivals_.next(), k_never);
}

TEST_F(RunArrivalsTest, BoundsWhatIsMissing) {
  constexpr std::uint64_t k_far = 1'000'000;
  EXPECT_TRUE(take(k_far));
  EXPECT_FALSE(take(0));
  EXPECT_FALSE(take(k_far - RunArrivals::k_most - 1));
  now_ += RunArrivals::k_patience;
  const Numbers numbers = told();
  ASSERT_EQ(numbers.size(), RunArrivals::k_most);
  EXPECT_EQ(numbers.front(), k_far - RunArrivals::k_most);
  EXPECT_EQ(numbers.back(), k_far - 1);
}

// What a network made of datagrams that were sent every 100 us: arrivals by time.
std::multimap<Time, std::uint64_t> arrivals_of(std::uint64_t datagrams, Random& random) {
  std::multimap<Time, std::uint64_t> arrivals;
  for (std::uint64_t number = 0; number < datagrams; ++number) {
    const std::uint64_t fate = random.below(10);
    const int copies = fate == 0 ? 0 : fate == 1 ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      const auto delay = static_cast<int>(random.below(4) == 0 ? random.below(30) : 0);
      arrivals.emplace(Time{} + 100us * (static_cast<int>(number) + delay), number);
    }
  }
  return arrivals;
}

// Whatever is lost, comes twice or is overtaken: none is taken twice or after it was told, and all
// that were not taken are told.
TEST(RunArrivals, TellTheTruth) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    RunArrivals arrivals;
    std::set<std::uint64_t> taken;
    std::set<std::uint64_t> told;
    const auto hear = [&](Time now) {
      for (const VoidRuns& one : arrivals.poll(now)) {
        EXPECT_FALSE(taken.contains(one.datagram));
        told.insert(one.datagram);
      }
    };
    Time now{};
    for (const auto& [at, number] : arrivals_of(500, random)) {
      now = at;
      if (arrivals.take(number, now)) {
        EXPECT_TRUE(taken.insert(number).second);
        EXPECT_FALSE(told.contains(number));
      }
      hear(now);
    }
    while (arrivals.next() != k_never) {
      now = std::max(now, arrivals.next());
      hear(now);
    }
    EXPECT_GT(taken.size(), 300u);
    for (std::uint64_t number = 0; number < *taken.rbegin(); ++number) {
      EXPECT_TRUE(taken.contains(number) || told.contains(number)) << number;
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
