#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "scheduler/stream/serving.h"

namespace sheaf::quic {
namespace {

using std::chrono::milliseconds;

class CriticalFirst : public testing::Test {
 protected:
  // Serves all active streams to their ends, in packets of 1000 bytes.
  Ids drain(std::map<std::uint64_t, std::uint64_t> remaining, const SendOpportunity& opportunity) {
    Ids order;
    while (const auto next = scheduler_->next(opportunity)) {
      std::uint64_t& left = remaining.at(next->value);
      const std::uint64_t sent = std::min<std::uint64_t>(left, 1000);
      left -= sent;
      order.push_back(next->value);
      scheduler_->on_sent(*next, {.bytes = sent, .remaining = left}, opportunity);
      if (left == 0) scheduler_->deactivate(*next);
    }
    return order;
  }
  void activate(const std::map<std::uint64_t, std::uint64_t>& remaining) {
    for (const auto& [stream, bytes] : remaining) scheduler_->activate({stream}, bytes);
  }

  std::unique_ptr<StreamScheduler> scheduler_ =
      make_stream_scheduler(StreamSchedulerKind::kCriticalFirst);
};

TEST_F(CriticalFirst, ServesTheHeaviestToItsEnd) {
  depend(*scheduler_, 4, 0, 8);
  depend(*scheduler_, 8, 0, 256);
  depend(*scheduler_, 12, 0, 24);
  activate({{4, 1000}, {8, 3000}, {12, 2000}});
  EXPECT_EQ(drain({{4, 1000}, {8, 3000}, {12, 2000}}, {}), (Ids{8, 8, 8, 12, 12, 4}));
}

TEST_F(CriticalFirst, ServesTheSmallestAmongEquals) {
  for (std::uint64_t stream : {4, 8, 12}) depend(*scheduler_, stream, 0, 16);
  activate({{4, 3000}, {8, 1000}, {12, 2000}});
  EXPECT_EQ(drain({{4, 3000}, {8, 1000}, {12, 2000}}, {}), (Ids{8, 12, 12, 4, 4, 4}));
}

TEST_F(CriticalFirst, WhoHasBegunAndHasLessLeftGoesOn) {
  for (std::uint64_t stream : {4, 8}) depend(*scheduler_, stream, 0, 16);
  scheduler_->activate({4}, 3000);
  EXPECT_EQ(scheduler_->next({})->value, 4u);
  scheduler_->on_sent({4}, {.bytes = 2000, .remaining = 1000}, {});
  scheduler_->activate({8}, 2000);
  EXPECT_EQ(scheduler_->next({})->value, 4u);
  scheduler_->activate({8}, 500);
  EXPECT_EQ(scheduler_->next({})->value, 8u);
}

// Firefox: the members of group 5 come before those of group 7, and the images below group 7 come
// last.
TEST_F(CriticalFirst, GoesDownTheTree) {
  scheduler_->set_group({.node = 5, .parent = 0, .weight = 241});
  scheduler_->set_group({.node = 7, .parent = 0, .weight = 201});
  scheduler_->set_group({.node = 11, .parent = 7, .weight = 2});
  depend(*scheduler_, 16, 11, 42);
  depend(*scheduler_, 20, 7, 32);
  depend(*scheduler_, 24, 5, 255);
  activate({{16, 1000}, {20, 5000}, {24, 9000}});
  EXPECT_EQ(drain({{16, 1000}, {20, 2000}, {24, 2000}}, {}), (Ids{24, 24, 20, 20, 16}));
}

TEST_F(CriticalFirst, AStreamInNoTreeHasTheWeightOfItsUrgency) {
  scheduler_->set_priority({4}, {.urgency = 5});
  scheduler_->set_priority({8}, {.urgency = 0});
  activate({{4, 1000}, {8, 9000}, {12, 2000}});  // 12: urgency 3
  EXPECT_EQ(drain({{4, 1000}, {8, 1000}, {12, 1000}}, {}), (Ids{8, 12, 4}));
}

TEST_F(CriticalFirst, LongIncrementalStreamsTakeTurnsBehindTheOthersOfTheirUrgency) {
  for (std::uint64_t stream : {4, 8}) scheduler_->set_priority({stream}, {.incremental = true});
  scheduler_->set_priority({16}, {.urgency = 5});
  activate({{4, 60'000'000}, {8, 3'000'000}, {12, 90'000'000}, {16, 100}});
  EXPECT_EQ(serve(*scheduler_, 2), (Ids{12, 12}));
  scheduler_->deactivate({12});
  EXPECT_EQ(serve(*scheduler_, 5), (Ids{4, 8, 4, 8, 4}));
  scheduler_->deactivate({8});
  EXPECT_EQ(serve(*scheduler_, 2), (Ids{4, 4}));
  scheduler_->activate({8}, 3'000'000);
  EXPECT_EQ(serve(*scheduler_, 3), (Ids{4, 8, 4}));
}

// Chromium requests a document incrementally. It must not come after a style sheet of the same
// urgency that is longer than the rest of the document.
TEST_F(CriticalFirst, WhatIsLeftOfAShortIncrementalStreamCompetesByItsBytes) {
  for (std::uint64_t stream : {4, 8}) scheduler_->set_priority({stream}, {.incremental = true});
  activate({{4, 600'000}, {8, 3000}, {12, 2000}, {16, 4000}});
  EXPECT_EQ(drain({{4, 1000}, {8, 2000}, {12, 1000}, {16, 1000}}, {}), (Ids{12, 8, 8, 16, 4}));
  activate({{4, 600'000}, {12, 2000}});
  EXPECT_EQ(scheduler_->next({})->value, 12u);
  activate({{4, 1000}});
  EXPECT_EQ(scheduler_->next({})->value, 4u);
}

TEST_F(CriticalFirst, APriorityMayChangeWhileItsStreamIsSent) {
  activate({{4, 1000}, {8, 9000}});
  EXPECT_EQ(serve(*scheduler_, 1), Ids{4});
  scheduler_->set_priority({8}, {.urgency = 2, .incremental = true});
  EXPECT_EQ(serve(*scheduler_, 1), Ids{8});
  scheduler_->set_priority({8}, {.incremental = true});
  EXPECT_EQ(serve(*scheduler_, 1), Ids{4});
}

// The fastest path carries 100 kB in a round trip of 20 ms, which is 10 ms shorter than on the
// other path. It delivers 25 kB before a packet on the other one arrives.
class CriticalFirstOnTwoPaths : public CriticalFirst {
 protected:
  CriticalFirstOnTwoPaths() {
    for (std::uint64_t stream : {4, 8, 12}) {
      depend(*scheduler_, stream, 0, static_cast<std::uint16_t>(256 - stream));
    }
  }
  std::vector<PathSnapshot> paths_{
      {.id = PathId{0}, .smoothed_rtt = milliseconds(20), .capacity = 100'000},
      {.id = PathId{1}, .smoothed_rtt = milliseconds(30), .capacity = 100'000}};
  SendOpportunity fast_{.path = PathId{0}, .paths = paths_};
  SendOpportunity slow_{.path = PathId{1}, .paths = paths_};
};

TEST_F(CriticalFirstOnTwoPaths, LeavesToTheFastestWhatItCompletesEarlier) {
  activate({{4, 10'000}, {8, 14'000}, {12, 50'000}});
  EXPECT_EQ(scheduler_->next(fast_)->value, 4u);
  EXPECT_EQ(scheduler_->next(slow_)->value, 12u);
}

// When it has room again in 5 ms, it delivers 25 kB until the other packet arrives; in 10 ms,
// nothing.
TEST_F(CriticalFirstOnTwoPaths, KnowsThatTheFastestIsBusy) {
  paths_[1].smoothed_rtt = milliseconds(40);
  paths_[0].until_room = milliseconds(5);
  activate({{4, 10'000}, {8, 16'000}, {12, 50'000}});
  EXPECT_EQ(scheduler_->next(slow_)->value, 8u);
  scheduler_->activate({8}, 14'000);
  EXPECT_EQ(scheduler_->next(slow_)->value, 12u);
  paths_[0].until_room = milliseconds(10);
  EXPECT_EQ(scheduler_->next(slow_)->value, 4u);
}

TEST_F(CriticalFirstOnTwoPaths, UsesTheSlowerOneForWhatIsTooMuch) {
  activate({{4, 24'000}, {8, 2'000}, {12, 50'000}});
  EXPECT_EQ(scheduler_->next(slow_)->value, 8u);
  scheduler_->activate({4}, 26'000);
  EXPECT_EQ(scheduler_->next(slow_)->value, 4u);
}

TEST_F(CriticalFirstOnTwoPaths, LeavesNoPathIdle) {
  activate({{4, 1'000}, {8, 1'000}});
  EXPECT_EQ(scheduler_->next(slow_)->value, 8u);
  scheduler_->deactivate({8});
  EXPECT_EQ(scheduler_->next(slow_)->value, 4u);
  scheduler_->deactivate({4});
  EXPECT_FALSE(scheduler_->next(slow_));
}

}  // namespace
}  // namespace sheaf::quic
