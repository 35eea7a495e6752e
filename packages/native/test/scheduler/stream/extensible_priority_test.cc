#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>
#include <vector>

#include "scheduler/stream/stream_scheduler.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

constexpr StreamPriority k_default{};
constexpr StreamPriority k_incremental{.urgency = 3, .incremental = true};

// Returns the order in which `packets` packets are given to streams.
std::vector<std::uint64_t> order(StreamScheduler& scheduler, int packets) {
  std::vector<std::uint64_t> streams;
  for (int i = 0; i < packets; ++i) {
    const auto next = scheduler.next({});
    if (!next) break;
    streams.push_back(next->value);
    scheduler.on_sent(*next, {.bytes = 1200}, {});
  }
  return streams;
}

class ExtensiblePriority : public testing::Test {
 protected:
  std::unique_ptr<StreamScheduler> scheduler_ =
      make_stream_scheduler(StreamSchedulerKind::kExtensible);
  using Ids = std::vector<std::uint64_t>;

  void activate(StreamId stream, const StreamPriority& priority) {
    scheduler_->set_priority(stream, priority);
    scheduler_->activate(stream, 100'000);
  }
};

TEST_F(ExtensiblePriority, HasNothingAtFirst) {
  EXPECT_FALSE(scheduler_->next({}));
  scheduler_->deactivate({4});
  scheduler_->on_sent({4}, {.bytes = 1}, {});
  EXPECT_FALSE(scheduler_->next({}));
}

TEST_F(ExtensiblePriority, SendsNonIncrementalStreamsToTheirEndInOrderOfId) {
  for (std::uint64_t id : {8, 0, 4}) activate({id}, k_default);
  EXPECT_EQ(order(*scheduler_, 3), (Ids{0, 0, 0}));
  scheduler_->deactivate({0});
  EXPECT_EQ(order(*scheduler_, 2), (Ids{4, 4}));
  scheduler_->deactivate({4});
  EXPECT_EQ(order(*scheduler_, 1), (Ids{8}));
}

TEST_F(ExtensiblePriority, SendsIncrementalStreamsInTurn) {
  for (std::uint64_t id : {8, 0, 4}) activate({id}, k_incremental);
  EXPECT_EQ(order(*scheduler_, 6), (Ids{8, 0, 4, 8, 0, 4}));
  scheduler_->deactivate({0});
  EXPECT_EQ(order(*scheduler_, 4), (Ids{8, 4, 8, 4}));
  activate({0}, k_incremental);
  EXPECT_EQ(order(*scheduler_, 3), (Ids{8, 4, 0}));
}

TEST_F(ExtensiblePriority, ServesUrgentStreamsFirst) {
  activate({0}, {.urgency = 5});
  activate({4}, {.urgency = 0, .incremental = true});
  activate({8}, {.urgency = 3});
  EXPECT_EQ(order(*scheduler_, 1), (Ids{4}));
  scheduler_->deactivate({4});
  EXPECT_EQ(order(*scheduler_, 1), (Ids{8}));
  scheduler_->deactivate({8});
  EXPECT_EQ(order(*scheduler_, 1), (Ids{0}));
}

TEST_F(ExtensiblePriority, ServesNonIncrementalStreamsBeforeIncrementalOnes) {
  activate({0}, k_incremental);
  activate({4}, k_default);
  EXPECT_EQ(order(*scheduler_, 2), (Ids{4, 4}));
}

TEST_F(ExtensiblePriority, ActivationIsIdempotent) {
  for (int i = 0; i < 3; ++i) {
    activate({0}, k_incremental);
    activate({4}, k_incremental);
  }
  EXPECT_EQ(order(*scheduler_, 4), (Ids{0, 4, 0, 4}));
  scheduler_->deactivate({0});
  scheduler_->deactivate({4});
  EXPECT_FALSE(scheduler_->next({}));
}

TEST_F(ExtensiblePriority, MovesAStreamWhosePriorityChanges) {
  activate({0}, k_default);
  activate({4}, k_default);
  activate({4}, {.urgency = 1});
  EXPECT_EQ(order(*scheduler_, 1), (Ids{4}));
  activate({4}, {.urgency = 7, .incremental = true});
  EXPECT_EQ(order(*scheduler_, 1), (Ids{0}));
}

TEST_F(ExtensiblePriority, TakesAnUrgencyThatIsTooLargeAsTheLast) {
  activate({0}, {.urgency = 200});
  activate({4}, {.urgency = 7});
  EXPECT_EQ(order(*scheduler_, 1), (Ids{0}));
}

// Implements what RFC 9218 §10 asks for, without regard to cost.
class Reference {
 public:
  void activate(std::uint64_t id, const StreamPriority& priority) {
    const auto known = active_.find(id);
    if (known != active_.end() && known->second == priority) return;
    deactivate(id);
    active_[id] = priority;
    if (priority.incremental) turns_[priority.urgency].push_back(id);
  }
  void deactivate(std::uint64_t id) {
    active_.erase(id);
    for (auto& [urgency, turns] : turns_) std::erase(turns, id);
  }
  std::optional<std::uint64_t> next() const {
    for (std::uint8_t urgency = 0; urgency < 8; ++urgency) {
      for (const auto& [id, priority] : active_) {
        if (priority == StreamPriority{urgency, false}) return id;
      }
      const auto turns = turns_.find(urgency);
      if (turns != turns_.end() && !turns->second.empty()) return turns->second.front();
    }
    return std::nullopt;
  }
  void on_sent(std::uint64_t id) {
    for (auto& [urgency, turns] : turns_) {
      if (turns.empty() || turns.front() != id) continue;
      turns.pop_front();
      turns.push_back(id);
    }
  }

 private:
  std::map<std::uint64_t, StreamPriority> active_;
  std::map<std::uint8_t, std::deque<std::uint64_t>> turns_;
};

TEST_F(ExtensiblePriority, AgreesWithTheReferenceOnRandomUse) {
  constexpr std::uint64_t k_seed = 9218;
  SeededRandom random(k_seed);
  Reference reference;
  for (int step = 0; step < 50'000; ++step) {
    const std::uint64_t id = random.below(40) * 4;
    switch (random.below(3)) {
      case 0: {
        const StreamPriority priority{static_cast<std::uint8_t>(random.below(8)),
                                      random.below(2) == 0};
        activate({id}, priority);
        reference.activate(id, priority);
        break;
      }
      case 1:
        scheduler_->deactivate({id});
        reference.deactivate(id);
        break;
      default:
        if (const auto next = scheduler_->next({})) {
          scheduler_->on_sent(*next, {.bytes = 1}, {});
          reference.on_sent(next->value);
        }
    }
    const auto next = scheduler_->next({});
    const auto expected = reference.next();
    ASSERT_EQ(next.has_value(), expected.has_value()) << "seed " << k_seed << " step " << step;
    if (next) {
      ASSERT_EQ(next->value, *expected) << "seed " << k_seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
