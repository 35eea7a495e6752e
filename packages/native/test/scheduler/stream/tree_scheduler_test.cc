#include "scheduler/stream/tree_scheduler.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "scheduler/stream/stream_aware_ecf.h"
#include "serving.h"

namespace sheaf::quic {
namespace {

using Kind = StreamSchedulerKind;

// Serves streams with a given number of remaining bytes; a packet carries 1,000 of them. `sequence`
// lists the streams and their numbers of packets in the order of service, until nothing remains.
class Transfers {
 public:
  explicit Transfers(Kind kind) : scheduler(make_stream_scheduler(kind)) {}

  void start(std::uint64_t stream, std::uint64_t packets) {
    left_[stream] = packets;
    scheduler->activate({stream}, packets * 1000);
  }
  std::vector<std::pair<std::uint64_t, int>> sequence() {
    std::vector<std::pair<std::uint64_t, int>> runs;
    while (const auto next = scheduler->next({})) {
      if (runs.empty() || runs.back().first != next->value) runs.emplace_back(next->value, 0);
      ++runs.back().second;
      const std::uint64_t left = --left_.at(next->value);
      scheduler->on_sent(*next, {.bytes = 1000, .remaining = left * 1000}, {});
      if (left == 0) {
        scheduler->deactivate(*next);
        scheduler->forget(*next);
      }
    }
    return runs;
  }

  std::unique_ptr<StreamScheduler> scheduler;

 private:
  std::map<std::uint64_t, std::uint64_t> left_;
};

using Runs = std::vector<std::pair<std::uint64_t, int>>;

// --- what all have in common ---------------------------------------------------------------------

constexpr Kind k_tree_kinds[] = {
    Kind::kWeighted, Kind::kWeightedBurst,    Kind::kScattered,      Kind::kScatteredReleased,
    Kind::kDataSize, Kind::kDataSizeRootOnly, Kind::kStreamAwareEcf, Kind::kStreamAwareEcfReleased};

class AnyTreeScheduler : public testing::TestWithParam<Kind> {};

// RFC 7540 §5.3.1: 1 above 2 above 3, whatever their weights.
TEST_P(AnyTreeScheduler, ServesAStreamBeforeThoseThatDependOnIt) {
  const auto scheduler = make_stream_scheduler(GetParam());
  depend(*scheduler, 1, 0, 1);
  depend(*scheduler, 2, 1, 256);
  depend(*scheduler, 3, 2, 256);
  for (std::uint64_t id : {3, 2, 1}) scheduler->activate({id}, 10'000);
  EXPECT_EQ(serve(*scheduler, 2), (Ids{1, 1}));
  // A node with nothing to send does not delay the nodes below it.
  scheduler->deactivate({1});
  EXPECT_EQ(serve(*scheduler, 2), (Ids{2, 2}));
  scheduler->activate({1}, 10'000);
  scheduler->forget({2});
  EXPECT_EQ(serve(*scheduler, 1), (Ids{1}));
  scheduler->forget({1});
  EXPECT_EQ(serve(*scheduler, 1), (Ids{3}));
  scheduler->forget({3});
  EXPECT_TRUE(serve(*scheduler, 1).empty());
}

// The priorities of the others form the chain of batches: 5 is put above all existing nodes.
TEST_P(AnyTreeScheduler, FollowsAnExclusiveInsertAmongActiveStreams) {
  const auto scheduler = make_stream_scheduler(GetParam());
  for (std::uint64_t id : {1, 2, 3}) {
    depend(*scheduler, id, 0, 16);
    scheduler->activate({id}, 10'000);
  }
  scheduler->activate({5}, 10'000);
  depend(*scheduler, 5, 0, 1, true);
  EXPECT_EQ(serve(*scheduler, 3), (Ids{5, 5, 5}));
  scheduler->forget({5});
  EXPECT_NE(serve(*scheduler, 1), Ids{});
}

TEST_P(AnyTreeScheduler, HasNothingAtFirst) {
  const auto scheduler = make_stream_scheduler(GetParam());
  EXPECT_FALSE(scheduler->next({}));
  scheduler->deactivate({4});
  scheduler->forget({4});
  scheduler->on_sent({4}, {.bytes = 1}, {});
  EXPECT_FALSE(scheduler->next({}));
}

INSTANTIATE_TEST_SUITE_P(Kinds, AnyTreeScheduler, testing::ValuesIn(k_tree_kinds),
                         [](const auto& parameter) { return test_name(parameter.param); });

// --- WRR -----------------------------------------------------------------------------------------

class WeightedRoundRobinTest : public testing::Test {
 protected:
  std::unique_ptr<StreamScheduler> scheduler_ = make_stream_scheduler(Kind::kWeighted);
};

// In rounds of 1, packets of A (weight 3) end at 1/3, 2/3, 1, 4/3, ..., and those of B (weight 1)
// at 1, 2, .... At equal ends, the stream that has waited longer is next. So A A B A, repeatedly.
TEST_F(WeightedRoundRobinTest, SpreadsPacketsByWeight) {
  depend(*scheduler_, 1, 0, 3);
  depend(*scheduler_, 2, 0, 1);
  scheduler_->activate({1}, 10'000);
  scheduler_->activate({2}, 10'000);
  EXPECT_EQ(serve(*scheduler_, 12), (Ids{1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 2, 1}));
}

// G (weight 2) has a and b, H (weight 1) has c. Of the groups G ends at 1/2, 1, 3/2, 2, H at 1, 2:
// G H G G H G. Within G: a b a b.
TEST_F(WeightedRoundRobinTest, SharesGroupByGroup) {
  scheduler_->set_group({.node = 100, .weight = 2});
  scheduler_->set_group({.node = 200, .weight = 1});
  depend(*scheduler_, 1, 100, 7);
  depend(*scheduler_, 2, 100, 7);
  depend(*scheduler_, 3, 200, 256);
  for (std::uint64_t id : {1, 2, 3}) scheduler_->activate({id}, 10'000);
  EXPECT_EQ(serve(*scheduler_, 6), (Ids{1, 3, 2, 1, 3, 2}));
}

TEST_F(WeightedRoundRobinTest, GivesNothingBackForTimeThatAStreamWasIdle) {
  for (std::uint64_t id : {1, 2, 3}) depend(*scheduler_, id, 0, 16);
  scheduler_->activate({1}, 10'000);
  scheduler_->activate({2}, 10'000);
  serve(*scheduler_, 100);
  scheduler_->activate({3}, 10'000);
  // The 50th packets of 1 and 2 started at 49/16. There 3 begins, so that its first one ends at
  // 50/16; then the next of all end at 51/16.
  EXPECT_EQ(serve(*scheduler_, 7), (Ids{3, 1, 2, 3, 1, 2, 3}));
}

// A stream that is blocked repeatedly must not get more than its share by coming back.
TEST_F(WeightedRoundRobinTest, GivesNothingForComingBack) {
  for (std::uint64_t id : {1, 2}) {
    depend(*scheduler_, id, 0, 16);
    scheduler_->activate({id}, 10'000);
  }
  int first = 0;
  for (int i = 0; i < 1000; ++i) {
    const Ids served = serve(*scheduler_, 1);
    first += served.front() == 1 ? 1 : 0;
    scheduler_->deactivate({1});
    scheduler_->activate({1}, 10'000);
  }
  EXPECT_NEAR(first, 500, 1);
}

// --- WRR as released -----------------------------------------------------------------------------

TEST(BurstRoundRobin, SpendsTheQuantumInOneVisit) {
  const auto scheduler = make_stream_scheduler(Kind::kWeightedBurst);
  depend(*scheduler, 1, 0, 3);
  depend(*scheduler, 2, 0, 2);
  scheduler->activate({1}, 10'000);
  scheduler->activate({2}, 10'000);
  EXPECT_EQ(serve(*scheduler, 10), (Ids{1, 1, 1, 2, 2, 1, 1, 1, 2, 2}));
}

// G (weight 2) has a (3) and b (1), and is beside c (1). Visits of G serve a a, then the rest of a
// and b: a b a b.
TEST(BurstRoundRobin, CountsThePacketsOfASubtree) {
  const auto scheduler = make_stream_scheduler(Kind::kWeightedBurst);
  scheduler->set_group({.node = 100, .weight = 2});
  depend(*scheduler, 1, 100, 3);
  depend(*scheduler, 2, 100, 1);
  depend(*scheduler, 3, 0, 1);
  for (std::uint64_t id : {1, 2, 3}) scheduler->activate({id}, 10'000);
  EXPECT_EQ(serve(*scheduler, 12), (Ids{1, 1, 3, 1, 2, 3, 1, 1, 3, 1, 2, 3}));
}

TEST(BurstRoundRobin, GoesOnWhenTheVisitedStreamLeaves) {
  const auto scheduler = make_stream_scheduler(Kind::kWeightedBurst);
  for (std::uint64_t id : {1, 2, 3}) {
    depend(*scheduler, id, 0, 2);
    scheduler->activate({id}, 10'000);
  }
  EXPECT_EQ(serve(*scheduler, 3), (Ids{1, 1, 2}));
  scheduler->deactivate({2});
  EXPECT_EQ(serve(*scheduler, 3), (Ids{3, 3, 1}));
}

// --- sWRR ----------------------------------------------------------------------------------------

// §2.4 with r = 10: weights 256, 128 and 20 have 10 tokens, 5 tokens, and, since 20 * 10 / 256 < 1,
// 1 token. One packet at a time: A B C, four times A B, five times A; then again from the start.
TEST(ScatteredRoundRobin, SpendsTokensOneAtATime) {
  const auto scheduler = make_stream_scheduler(Kind::kScattered);
  const std::uint16_t weights[] = {256, 128, 20};
  for (std::uint64_t id : {1, 2, 3}) {
    depend(*scheduler, id, 0, weights[id - 1]);
    scheduler->activate({id}, 10'000);
  }
  const Ids round{1, 2, 3, 1, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1};
  EXPECT_EQ(serve(*scheduler, 16), round);
  EXPECT_EQ(serve(*scheduler, 16), round);
  // Without A the largest weight is 128. From the next round on, B has 10 tokens and C has 20 * 10
  // / 128 = 1.
  scheduler->forget({1});
  EXPECT_EQ(serve(*scheduler, 11), (Ids{2, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2}));
}

TEST(ScatteredRoundRobin, LeavingAndComingBackYieldsNoTokens) {
  const auto scheduler = make_stream_scheduler(Kind::kScattered);
  for (std::uint64_t id : {1, 2}) {
    depend(*scheduler, id, 0, 16);
    scheduler->activate({id}, 10'000);
  }
  int first = 0;
  for (int i = 0; i < 1000; ++i) {
    first += serve(*scheduler, 1).front() == 1 ? 1 : 0;
    scheduler->deactivate({1});
    scheduler->activate({1}, 10'000);
  }
  EXPECT_NEAR(first, 500, 10);
}

TEST(ScatteredRoundRobinReleased, IsPlainTurnsAmongSiblings) {
  const auto scheduler = make_stream_scheduler(Kind::kScatteredReleased);
  scheduler->set_group({.node = 100, .weight = 256});
  depend(*scheduler, 1, 100, 1);
  depend(*scheduler, 2, 100, 256);
  depend(*scheduler, 3, 0, 5);
  for (std::uint64_t id : {1, 2, 3}) scheduler->activate({id}, 10'000);
  EXPECT_EQ(serve(*scheduler, 8), (Ids{1, 3, 2, 3, 1, 3, 2, 3}));
}

// --- dWRR ----------------------------------------------------------------------------------------

// §3.3: groups of priority 200 and 50 have p = 200 / 250 and 50 / 250, which is 80 and 20 of 100
// packets. In the first round the higher group sends 80 packets, smallest first: 40 of B, 40 of A;
// the lower group sends 20: 10 of D, 10 of C. In the second round: the last 10 of A, then only C.
TEST(DataSizeRoundRobin, SharesARoundAmongGroupsAndServesTheSmallestFirst) {
  Transfers transfers(Kind::kDataSize);
  constexpr std::uint64_t A = 1, B = 2, C = 3, D = 4;
  depend(*transfers.scheduler, A, 0, 200);
  depend(*transfers.scheduler, B, 0, 200);
  depend(*transfers.scheduler, C, 0, 50);
  depend(*transfers.scheduler, D, 0, 50);
  transfers.start(C, 30);
  transfers.start(A, 50);
  transfers.start(D, 10);
  transfers.start(B, 40);
  EXPECT_EQ(transfers.sequence(), (Runs{{B, 40}, {A, 40}, {D, 10}, {C, 10}, {A, 10}, {C, 20}}));
}

// G with a (30) and b (5) has 35 packets left, and its sibling c has 10. In G, b is the smaller
// one.
TEST(DataSizeRoundRobin, CountsTheBytesOfASubtree) {
  Transfers transfers(Kind::kDataSize);
  transfers.scheduler->set_group({.node = 100});
  depend(*transfers.scheduler, 1, 100, 16);
  depend(*transfers.scheduler, 2, 100, 16);
  depend(*transfers.scheduler, 3, 0, 16);
  transfers.start(1, 30);
  transfers.start(2, 5);
  transfers.start(3, 10);
  EXPECT_EQ(transfers.sequence(), (Runs{{3, 10}, {2, 5}, {1, 30}}));
}

// Priorities 256 and 1: p = 1 / 257 is less than one packet of 100, and is rounded up to one.
TEST(DataSizeRoundRobin, LeavesEveryGroupAPacketOfARound) {
  Transfers transfers(Kind::kDataSize);
  depend(*transfers.scheduler, 1, 0, 256);
  depend(*transfers.scheduler, 2, 0, 1);
  transfers.start(1, 250);
  transfers.start(2, 10);
  EXPECT_EQ(transfers.sequence(), (Runs{{1, 100}, {2, 1}, {1, 100}, {2, 1}, {1, 50}, {2, 8}}));
}

// A (priority 200) is complete in its first turn. Then the sum is 80: of 100 packets, B (50) has
// 62.5, rounded to 63, and C (30) has 37.5, rounded to 38. When B is complete as well, C is alone.
TEST(DataSizeRoundRobin, CountsOnlyGroupsThatHaveSomethingToSend) {
  Transfers transfers(Kind::kDataSize);
  constexpr std::uint64_t A = 1, B = 2, C = 3;
  depend(*transfers.scheduler, A, 0, 200);
  depend(*transfers.scheduler, B, 0, 50);
  depend(*transfers.scheduler, C, 0, 30);
  transfers.start(A, 5);
  transfers.start(B, 100);
  transfers.start(C, 100);
  EXPECT_EQ(transfers.sequence(), (Runs{{A, 5}, {B, 63}, {C, 38}, {B, 37}, {C, 62}}));
}

// --- dWRR as released ----------------------------------------------------------------------------

// Children of the root: by weight, by size, and nodes with children last. Below them: in the order
// of arrival.
TEST(BurstRoundRobinBySize, SortsTheChildrenOfTheRoot) {
  const auto scheduler = make_stream_scheduler(Kind::kDataSizeRootOnly);
  scheduler->set_group({.node = 100, .weight = 3});
  depend(*scheduler, 1, 0, 2);
  depend(*scheduler, 2, 0, 2);
  depend(*scheduler, 3, 0, 4);
  depend(*scheduler, 4, 100, 2);
  depend(*scheduler, 5, 100, 2);
  scheduler->activate({4}, 90'000);
  scheduler->activate({5}, 10'000);
  scheduler->activate({1}, 50'000);
  scheduler->activate({2}, 20'000);
  scheduler->activate({3}, 99'000);
  EXPECT_EQ(serve(*scheduler, 11), (Ids{3, 3, 3, 3, 2, 2, 1, 1, 4, 4, 5}));
  EXPECT_EQ(serve(*scheduler, 11), (Ids{3, 3, 3, 3, 2, 2, 1, 1, 5, 4, 4}));
}

// --- SA-ECF --------------------------------------------------------------------------------------

constexpr PathId k_best{0}, k_other{1};

// Windows of 10,000 bytes. The best path has 10 ms and is full; the other one has `other_ms`.
class Paths {
 public:
  explicit Paths(int other_ms)
      : paths_{PathSnapshot{
                   .id = k_best, .smoothed_rtt = 10ms, .window = 10'000, .datagram_size = 1'000},
               PathSnapshot{.id = k_other,
                            .smoothed_rtt = std::chrono::milliseconds(other_ms),
                            .window = 10'000,
                            .sendable = 10'000,
                            .datagram_size = 1'000}} {}
  SendOpportunity on(PathId path) const { return {.path = path, .paths = paths_}; }

 private:
  std::array<PathSnapshot, 2> paths_;
};

std::optional<std::uint64_t> next(StreamScheduler& scheduler, const SendOpportunity& opportunity) {
  const auto stream = scheduler.next(opportunity);
  return stream ? std::optional(stream->value) : std::nullopt;
}

class StreamAwareEcfTest : public testing::Test {
 protected:
  std::unique_ptr<StreamScheduler> scheduler_ = make_stream_scheduler(Kind::kStreamAwareEcf);
};

// It waits if 4 * 10 * (queue + 10,000) < 4 * 10,000 * 30 = 1,200,000, and 30 * max(queue, 10,000)
// > 10,000 * 20 = 200,000, where the left side is always at least 300,000. With 5,000: 600,000, so
// it waits. With 30,000: 1,600,000, so it sends.
TEST_F(StreamAwareEcfTest, WaitsForTheBestPathWhereThatIsEarlier) {
  const Paths paths(30);
  scheduler_->activate({4}, 5'000);
  EXPECT_EQ(next(*scheduler_, paths.on(k_other)), std::nullopt);
  EXPECT_EQ(next(*scheduler_, paths.on(k_best)), 4);
  EXPECT_EQ(next(*scheduler_, {.path = k_other}), 4);
  scheduler_->activate({4}, 30'000);
  EXPECT_EQ(next(*scheduler_, paths.on(k_other)), 4);
}

// With 25,000: 1,400,000 is not less than 1,200,000, but less than 5 * 10,000 * 30 = 1,500,000,
// which is the bound for a stream that waits.
TEST_F(StreamAwareEcfTest, GoesOnWaitingForAWhile) {
  const Paths paths(30);
  scheduler_->activate({4}, 25'000);
  EXPECT_EQ(next(*scheduler_, paths.on(k_other)), 4);
  scheduler_->activate({4}, 5'000);
  EXPECT_EQ(next(*scheduler_, paths.on(k_other)), std::nullopt);
  scheduler_->activate({4}, 25'000);
  EXPECT_EQ(next(*scheduler_, paths.on(k_other)), std::nullopt);
  scheduler_->activate({4}, 30'000);
  EXPECT_EQ(next(*scheduler_, paths.on(k_other)), 4);
  scheduler_->activate({4}, 25'000);
  EXPECT_EQ(next(*scheduler_, paths.on(k_other)), 4);
}

// With 19 ms: 600,000 < 760,000, but 19 * 10,000 = 190,000 is not above 200,000, so waiting would
// take longer.
TEST_F(StreamAwareEcfTest, DoesNotWaitForLongerThanTheOtherPathTakes) {
  const Paths paths(19);
  scheduler_->activate({4}, 5'000);
  EXPECT_EQ(next(*scheduler_, paths.on(k_other)), 4);
}

// With equal weights each has a share of 1/2. A's 5,000 are complete after 10,000 (800,000: waits).
// B's 30,000 are complete after 60,000, of which 35,000 are queued (1,800,000: sends).
TEST_F(StreamAwareEcfTest, AsksTheNextStream) {
  const Paths paths(30);
  scheduler_->activate({4}, 5'000);
  scheduler_->activate({8}, 30'000);
  EXPECT_EQ(next(*scheduler_, paths.on(k_other)), 8);
  EXPECT_EQ(next(*scheduler_, paths.on(k_best)), 4);
}

// With weight 16 of 16 + 240, 5,000 are complete after 80,000, of which 7,000 are queued. With a
// queue of 40,000 the connection sends these first, and more: 2,000,000, so it sends.
TEST_F(StreamAwareEcfTest, CountsTheShareInTheTree) {
  const Paths paths(30);
  depend(*scheduler_, 1, 0, 16);
  depend(*scheduler_, 2, 0, 240);
  scheduler_->activate({1}, 5'000);
  scheduler_->activate({2}, 2'000);
  EXPECT_EQ(next(*scheduler_, paths.on(k_other)), std::nullopt);
  scheduler_->activate({2}, 35'000);
  scheduler_->activate({3}, 1);
  // 2 is first in the order: its 35,000 are complete after 35,000 * 272 / 240 = 39,667, so it
  // sends.
  EXPECT_EQ(next(*scheduler_, paths.on(k_other)), 2);
  scheduler_->deactivate({2});
  EXPECT_EQ(next(*scheduler_, paths.on(k_other)), std::nullopt);
}

// Streams of 10 bytes wait, whatever their share. The eighth stream in the order is asked, the
// ninth is not.
TEST_F(StreamAwareEcfTest, AsksEightStreams) {
  for (const std::uint64_t small : {7, 8}) {
    const auto scheduler = make_stream_scheduler(Kind::kStreamAwareEcf);
    const Paths paths(30);
    for (std::uint64_t id = 1; id <= small; ++id) scheduler->activate({id}, 10);
    scheduler->activate({100}, 50'000);
    EXPECT_EQ(next(*scheduler, paths.on(k_other)),
              small == 7 ? std::optional<std::uint64_t>(100) : std::nullopt);
  }
}

// It counts at most 10,000 of any queue: 4 * 10 * 20,000 = 800,000 < 1,200,000, so it waits
// forever.
TEST(StreamAwareEcfReleased, CountsNoMoreThanAWindow) {
  const auto scheduler = make_stream_scheduler(Kind::kStreamAwareEcfReleased);
  scheduler->activate({4}, 1'000'000);
  EXPECT_EQ(next(*scheduler, Paths(30).on(k_other)), std::nullopt);
  EXPECT_EQ(next(*scheduler, Paths(15).on(k_other)), 4);
}

}  // namespace
}  // namespace sheaf::quic
