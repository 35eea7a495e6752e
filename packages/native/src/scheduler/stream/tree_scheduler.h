#pragma once

#include <algorithm>
#include <vector>

#include "scheduler/stream/dependency_tree.h"
#include "scheduler/stream/stream_scheduler.h"
#include "scheduler/stream/turn_order.h"

namespace sheaf::quic {

// A scheduler that descends the dependency tree. A stream comes before all that depends on it (RFC
// 7540 §5.3.1), and among the ready children of a node the scheduler's own rule decides. The rule
// is expressed by keys: the child with the least key is next. A decision costs O(depth), and its
// changes cost O(log n) for each node on the way with several ready children.
class TreeScheduler : public StreamScheduler, private DependencyTree::Listener {
 public:
  using Index = DependencyTree::Index;
  static constexpr Index k_none = DependencyTree::k_none;

  void set_priority(StreamId stream, const StreamPriority& priority) override;
  void set_group(const Dependency& group) override;
  void forget(StreamId stream) override;
  void activate(StreamId stream, std::uint64_t remaining) override;
  void deactivate(StreamId stream) override;
  std::optional<StreamId> next(const SendOpportunity& opportunity) override;
  void on_sent(StreamId stream, const SentData& sent, const SendOpportunity& opportunity) override;

  const DependencyTree& tree() const { return tree_; }

 protected:
  TreeScheduler();

  void set_dependency(StreamId stream, const Dependency& dependency);

  // --- the rule ---------------------------------------------------------------------------------
  void on_node(Index node) override;
  void on_linked(Index) override {}
  // Returns the key of a child that becomes ready.
  virtual std::uint64_t joining_key(Index parent, Index child) = 0;
  // Called when a packet of the child's subtree was sent, and the parent has other ready children.
  virtual void charge(Index parent, Index child) = 0;
  virtual Index choose(Index parent) { return first(parent); }
  virtual void on_leaving(Index parent, Index child) {
    static_cast<void>(parent);
    static_cast<void>(child);
  }
  void on_bytes(Index, Index) override {}

  // --- ready children, in order ------------------------------------------------------------------
  const DependencyTree::Node& node(Index index) const { return tree_.node(index); }
  Index first(Index parent) const { return ready_[parent].first; }
  Index after(Index child) const { return order_.after(child); }
  Index at_least(Index parent, std::uint64_t key) const {
    return order_.at_least(ready_[parent], key);
  }
  std::uint64_t key(Index child) const { return order_.key(child); }
  // Returns the next stream in the order of the tree that can be sent before anything above it;
  // from the root, the first one.
  Index candidate_below(Index index) const;
  Index candidate_after(Index stream) const;
  // `hint` is as in TurnOrder::insert.
  void move(Index parent, Index child, std::uint64_t key, Index hint = k_none) {
    order_.move(ready_[parent], child, key, hint);
  }

 private:
  void on_ready(Index parent, Index child) final;
  void on_idle(Index parent, Index child) final;

  TurnOrder order_;
  std::vector<TurnOrder::Set> ready_;  // by parent
  DependencyTree tree_;
};

// Returns a key that sorts by weight, the greatest first, then by size, the smallest first.
inline std::uint64_t weight_and_size_key(std::uint16_t weight, std::uint64_t bytes) {
  constexpr int k_size_bits = 48;
  constexpr std::uint64_t k_max_size = (std::uint64_t{1} << k_size_bits) - 1;
  return std::uint64_t{DependencyTree::k_max_weight - std::uint32_t{weight}} << k_size_bits |
         std::min(bytes, k_max_size);
}

// A tree scheduler with state for each node: `turn` of a child among its siblings, which is reset
// with a new parent, and `round` of a parent.
template <typename Turn, typename Round>
class StatefulTreeScheduler : public TreeScheduler {
 protected:
  void on_node(Index node) override {
    TreeScheduler::on_node(node);
    if (states_.size() <= node) states_.resize(node + 1);
    states_[node] = {};
  }
  void on_linked(Index node) override { states_[node].turn = {}; }

  Turn& turn(Index child) { return states_[child].turn; }
  Round& round(Index parent) { return states_[parent].round; }

 private:
  struct State {
    Turn turn{};
    Round round{};
  };
  std::vector<State> states_ = std::vector<State>(1);  // the root
};

}  // namespace sheaf::quic
