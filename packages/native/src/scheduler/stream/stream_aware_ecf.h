#pragma once

#include "scheduler/stream/weighted_round_robin.h"

namespace sheaf::quic {

// SA-ECF (Nguyen et al. §2.4, reference 14; Rabitsch et al., EPIQ 2018): earliest completion first,
// decided for each stream. The order is that of WRR. Where the path that would carry the packet is
// not the one with the lowest round trip, a stream waits for that one if it would be complete
// earlier so, and the next stream in the order is asked. A stream is complete when the connection
// has sent what it has left, divided by its share in the tree.
class StreamAwareEcf : public WeightedRoundRobin {
 public:
  // Streams that are asked before the path is left idle.
  static constexpr int k_max_candidates = 8;

  std::optional<StreamId> next(const SendOpportunity& opportunity) override;

 protected:
  // Bytes that the best path would have to carry, of `queue` that wait.
  virtual double best_path_load(double queue, const PathSnapshot& best) const {
    static_cast<void>(best);
    return queue;
  }

 private:
  // The hysteresis of ECF (Lim et al., CoNEXT 2017 §4): who waits goes on waiting for a while.
  static constexpr double k_beta = 4;

  bool waits(Index stream, const PathSnapshot& best, const PathSnapshot& offered);
  // That the connection sends until the stream is complete.
  double bytes_until_completion(Index stream) const;

  std::vector<bool> waiting_;  // by index
};

// As released with Nguyen et al.: it counts no more than one window of the best path, and so waits
// whenever two round trips of that are shorter than one of the other.
class StreamAwareEcfReleased final : public StreamAwareEcf {
 private:
  double best_path_load(double queue, const PathSnapshot& best) const override {
    return std::min(queue, static_cast<double>(best.window));
  }
};

}  // namespace sheaf::quic
