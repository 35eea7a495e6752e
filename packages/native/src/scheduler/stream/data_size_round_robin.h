#pragma once

#include "scheduler/stream/tree_scheduler.h"

namespace sheaf::quic {

struct SizeTurn {};
struct SizeRound {
  std::uint16_t weight = 0;                             // weight of the current group
  std::uint32_t left = 0;                               // packets that it has left in this round
  std::uint32_t sum = 0;                                // weights of all groups with a ready child
  TreeScheduler::Index chosen = TreeScheduler::k_none;  // of the group; none: to be looked up
};

// dWRR of Nguyen et al. §3.3: siblings of equal priority form a group. In a round, the groups come
// in order of priority. Each has the share p = min(1, priority / sum of the groups' priorities) of
// the packets. Within a group, the child with the fewest bytes left comes first, including all that
// depends on it. The paper does not define the length of a round: here it is 100 packets, and at
// least one for each group.
class DataSizeRoundRobin final : public StatefulTreeScheduler<SizeTurn, SizeRound> {
 public:
  static constexpr std::uint32_t k_round_packets = 100;

 private:
  std::uint64_t joining_key(Index parent, Index child) override;
  void on_leaving(Index parent, Index child) override;
  Index choose(Index parent) override;
  void charge(Index parent, Index child) override;
  void on_bytes(Index parent, Index child) override;

  // Returns the first child of the group; none if the group has no ready child.
  Index first_of(Index parent, std::uint16_t weight) const;
  void start_turn(Index parent, Index child);
};

}  // namespace sheaf::quic
