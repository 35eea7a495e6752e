#pragma once

#include <algorithm>

#include "scheduler/stream/tree_scheduler.h"

namespace sheaf::quic {

struct BurstTurn {
  std::uint16_t left = 0;  // packets of its quantum
};
struct BurstRound {
  TreeScheduler::Index visited = TreeScheduler::k_none;
};

// WRR as released with Nguyen et al.: visits children in turn, and spends the whole quantum of
// `weight` packets (wire weight + 1) in one visit. So up to 256 packets of one stream follow each
// other.
class BurstRoundRobin : public StatefulTreeScheduler<BurstTurn, BurstRound> {
 private:
  // Children are in order of arrival.
  std::uint64_t joining_key(Index parent, Index child) override { return place(parent, child); }
  Index choose(Index parent) override {
    if (round(parent).visited == k_none) round(parent).visited = first(parent);
    return round(parent).visited;
  }
  void charge(Index parent, Index child) override {
    if (child != round(parent).visited) return;
    std::uint16_t& left = turn(child).left;
    if (left == 0) left = node(child).weight;
    if (--left == 0) visit_next(parent);
  }
  void on_leaving(Index parent, Index child) override {
    if (round(parent).visited != child) return;
    visit_next(parent);
    if (round(parent).visited == child) round(parent).visited = k_none;
  }
  void visit_next(Index parent) {
    const Index next = after(round(parent).visited);
    round(parent).visited = next == k_none ? first(parent) : next;
  }

 protected:
  virtual std::uint64_t place(Index parent, Index child) {
    static_cast<void>(parent);
    static_cast<void>(child);
    return arrivals_++;
  }

 private:
  std::uint64_t arrivals_ = 0;
};

// dWRR as released with Nguyen et al.: as above, but visits the children of the root in order of
// priority, then of size, and nodes with ready children last. The release sorts whenever the number
// of children changes; here a child's place depends on its size when it becomes ready.
class BurstRoundRobinBySize final : public BurstRoundRobin {
 private:
  std::uint64_t place(Index parent, Index child) override {
    if (parent != DependencyTree::k_root) return BurstRoundRobin::place(parent, child);
    const std::uint64_t inner = node(child).ready_children > 0 ? 1 : 0;
    const std::uint64_t rank = DependencyTree::k_max_weight - std::uint64_t{node(child).weight};
    return inner << 63 | rank << 48 | std::min(node(child).bytes, (std::uint64_t{1} << 48) - 1);
  }
};

}  // namespace sheaf::quic
