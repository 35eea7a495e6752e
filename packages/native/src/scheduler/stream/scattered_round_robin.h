#pragma once

#include <algorithm>
#include <array>

#include "scheduler/stream/tree_scheduler.h"

namespace sheaf::quic {

struct TokenTurn {
  std::uint64_t number = 0;  // of the round that `spent` belongs to
  std::uint64_t spent = 0;
};
struct TokenRound {
  std::uint64_t number = 0;
  std::uint16_t max_weight = 1;  // of the ready children
  // The children that were served last and came into a round with an even and an odd number
  std::array<TreeScheduler::Index, 2> last_in{TreeScheduler::k_none, TreeScheduler::k_none};
};

// sWRR of Nguyen et al. §2.4 and §3.3. In a round, a child has weight * 10 / (greatest weight)
// packets, at least one, and sends them one at a time in turn with its siblings. A round ends when
// no child has any left. So greater weights do not take the window for themselves.
class ScatteredRoundRobin : public StatefulTreeScheduler<TokenTurn, TokenRound> {
 public:
  static constexpr std::uint64_t k_max_tokens = 10;

 private:
  static constexpr int k_spent_shift = 20;
  static constexpr int k_round_shift = 24;

  // Orders children by round, then by packets sent in it, then by node.
  std::uint64_t place(Index parent, Index child) {
    const TokenTurn& its = turn(child);
    const bool done = its.spent >= tokens(parent, child);
    const std::uint64_t number = done ? its.number + 1 : its.number;
    return number << k_round_shift | (done ? 0 : its.spent) << k_spent_shift |
           (child & ((1u << k_spent_shift) - 1));
  }
  std::uint64_t joining_key(Index parent, Index child) override {
    TokenRound& current = round(parent);
    current.max_weight = std::max(current.max_weight, node(child).weight);
    // A child that left in this round still has what it had not spent.
    if (turn(child).number != current.number) turn(child) = {.number = current.number};
    return place(parent, child);
  }
  void charge(Index parent, Index child) override {
    const std::uint64_t number = key(child) >> k_round_shift;
    if (number > round(parent).number) start_round(parent, number);
    if (number > turn(child).number) turn(child) = {.number = number};
    ++turn(child).spent;
    // It goes just after the sibling that was served before it, if that one has tokens left as
    // well.
    const std::uint64_t its_key = place(parent, child);
    Index& before = round(parent).last_in[its_key >> k_round_shift & 1];
    move(parent, child, its_key, before);
    before = child;
  }
  // Starts a round. Every child had at least one packet in the round before, so this costs O(1) per
  // packet.
  void start_round(Index parent, std::uint64_t number) {
    round(parent).number = number;
    std::uint16_t& max_weight = round(parent).max_weight = 1;
    for (Index child = first(parent); child != k_none; child = after(child)) {
      max_weight = std::max(max_weight, node(child).weight);
    }
  }

 protected:
  virtual std::uint64_t tokens(Index parent, Index child) {
    return std::max(node(child).weight * k_max_tokens / round(parent).max_weight, std::uint64_t{1});
  }
};

// sWRR as released with Nguyen et al.: it scales the rest of the quantum, which is nothing. So
// every child has one token, and siblings simply take turns.
class ScatteredRoundRobinReleased final : public ScatteredRoundRobin {
 private:
  std::uint64_t tokens(Index, Index) override { return 1; }
};

}  // namespace sheaf::quic
