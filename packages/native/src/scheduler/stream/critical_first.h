#pragma once

#include "scheduler/stream/tree_scheduler.h"

namespace sheaf::quic {

// Our own scheduler (docs/decisions/0010). The heaviest child of a node comes first and is served
// to its end; among equals, the one with the fewest bytes left. A page shows nothing before its
// critical resources are complete, and half an image is worth less than one of two images. On a
// slower path, it leaves streams to the fastest path that completes them earlier by itself, and
// sends what comes after them.
class CriticalFirst final : public TreeScheduler {
 public:
  // Maximum of streams to consider before the slower path takes the first one
  static constexpr int k_max_candidates = 8;

  // Size in bytes below which streams do not take turns: they are soon sent, and sharing would
  // complete each of them later.
  static constexpr std::uint64_t k_min_bytes_in_turns = 512 << 10;

  // Sets a priority. A stream in no tree has the weight of its urgency (RFC 9218 §4.1). Long
  // incremental streams take turns, behind the others of their urgency (§10).
  void set_priority(StreamId stream, const StreamPriority& priority) override;
  void activate(StreamId stream, std::uint64_t remaining) override;
  std::optional<StreamId> next(const SendOpportunity& opportunity) override;

 private:
  void on_node(Index node) override;
  std::uint64_t joining_key(Index parent, Index child) override;
  void charge(Index parent, Index child) override;
  void on_bytes(Index parent, Index child) override;
  std::uint64_t key_of(Index child) const;
  bool takes_turns(Index child) const;

  std::vector<bool> incremental_ = std::vector<bool>(1);  // by index; the root is not
};

}  // namespace sheaf::quic
