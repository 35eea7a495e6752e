#pragma once

#include <algorithm>
#include <array>

#include "scheduler/stream/tree_scheduler.h"

namespace sheaf::quic {

// WRR of Nguyen et al. §3.3: siblings get packets in proportion to their weights. A packet takes
// 1/weight of a round, and the packet that would be finished first is next (stride scheduling). So
// the shares hold within one packet over a round, and no sibling waits for the whole quantum of
// another.
struct StrideTurn {
  std::uint64_t start = 0;  // of its next packet, in the parent's rounds
};
struct StrideRound {
  std::uint64_t now = 0;  // the latest start of a packet that was sent
};

class WeightedRoundRobin : public StatefulTreeScheduler<StrideTurn, StrideRound> {
 private:
  // Units of a round, which all weights to 16 divide, and powers of two to 256
  static constexpr std::uint32_t k_round = 256 * 45'045;

  static constexpr auto k_packet = [] {
    std::array<std::uint32_t, DependencyTree::k_max_weight + 1> parts{};
    for (std::uint32_t weight = 1; weight < parts.size(); ++weight)
      parts[weight] = k_round / weight;
    return parts;
  }();

  std::uint64_t end(Index child) { return turn(child).start + k_packet[node(child).weight]; }

  std::uint64_t joining_key(Index parent, Index child) override {
    // It loses what it missed while it was idle, but what it got too early still counts.
    turn(child).start = std::max(turn(child).start, round(parent).now);
    return end(child);
  }
  void charge(Index parent, Index child) override {
    round(parent).now = std::max(round(parent).now, turn(child).start);
    turn(child).start = end(child);
    // It goes soon after the sibling of the same weight that was served last.
    Index& before = last_of_[node(child).weight];
    move(parent, child, end(child), before);
    before = child;
  }

  std::array<Index, DependencyTree::k_max_weight + 1> last_of_ = [] {
    std::array<Index, DependencyTree::k_max_weight + 1> none;
    none.fill(k_none);
    return none;
  }();
};

}  // namespace sheaf::quic
