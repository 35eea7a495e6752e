#pragma once

#include "scheduler/stream/weighted_round_robin.h"

namespace sheaf::quic {

// SA-ECF (Nguyen et al. §2.4, reference 14; Rabitsch et al., EPIQ 2018): earliest completion first,
// decided for each stream, in the order of WRR. If the offered path does not have the lowest round
// trip, a stream waits for the path that has, provided that it would then be complete earlier; the
// next stream in the order is considered. A stream is complete when the connection has sent the
// rest of it, divided by its share in the tree.
class StreamAwareEcf : public WeightedRoundRobin {
 public:
  // Maximum of streams to consider before the path is left idle
  static constexpr int k_max_candidates = 8;

  std::optional<StreamId> next(const SendOpportunity& opportunity) override;

 protected:
  // Returns the bytes of the waiting `queue` that the best path would have to carry.
  virtual double best_path_load(double queue, const PathSnapshot& best) const {
    static_cast<void>(best);
    return queue;
  }

 private:
  // Hysteresis of ECF (Lim et al., CoNEXT 2017 §4): a waiting stream continues to wait for a while.
  static constexpr double k_beta = 4;

  bool waits(Index stream, const PathSnapshot& best, const PathSnapshot& offered);
  // Returns the bytes that the connection sends until the stream is complete.
  double bytes_until_completion(Index stream) const;

  std::vector<bool> waiting_;  // by index
};

// SA-ECF as released with Nguyen et al.: it counts at most one window of the best path, and so
// waits whenever two round trips of that path are shorter than one of the other.
class StreamAwareEcfReleased final : public StreamAwareEcf {
 private:
  double best_path_load(double queue, const PathSnapshot& best) const override {
    return std::min(queue, static_cast<double>(best.window));
  }
};

}  // namespace sheaf::quic
