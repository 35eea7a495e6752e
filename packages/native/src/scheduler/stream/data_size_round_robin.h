#pragma once

#include "scheduler/stream/tree_scheduler.h"

namespace sheaf::quic {

struct SizeTurn {};
struct SizeRound {
  std::uint16_t weight = 0;  // of the group whose turn it is
  std::uint32_t left = 0;    // packets that it has left in this round
  std::uint32_t sum = 0;     // of the weights of all groups that have a ready child
  TreeScheduler::Index chosen = TreeScheduler::k_none;  // of the group; none: to be looked up
};

// dWRR of Nguyen et al. §3.3: siblings of equal priority are a group. In a round the groups come in
// order of priority, and each has the share p = min(1, priority / sum of the groups' priorities) of
// the packets; within a group the child comes first that has the fewest bytes left, with all that
// depends on it. The paper leaves open how long a round is: here 100 packets, each group at least
// one.
class DataSizeRoundRobin final : public StatefulTreeScheduler<SizeTurn, SizeRound> {
 public:
  static constexpr std::uint32_t k_round_packets = 100;

 private:
  std::uint64_t joining_key(Index parent, Index child) override;
  void on_leaving(Index parent, Index child) override;
  Index choose(Index parent) override;
  void charge(Index parent, Index child) override;
  void on_bytes(Index parent, Index child) override;

  // The first of the group; none: the group has no ready child.
  Index first_of(Index parent, std::uint16_t weight) const;
  void start_turn(Index parent, Index child);
};

}  // namespace sheaf::quic
