#pragma once

#include "scheduler/path/path_scheduler.h"

namespace sheaf::quic {

// Returns the path with the lowest smoothed round trip among those that `eligible` accepts.
template <typename Eligible>
std::optional<std::size_t> fastest_path(std::span<const PathSnapshot> paths, Eligible eligible) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!eligible(paths[i])) continue;
    if (!best || paths[i].smoothed_rtt < paths[*best].smoothed_rtt) best = i;
  }
  return best;
}

inline std::optional<std::size_t> fastest_sendable_path(std::span<const PathSnapshot> paths) {
  return fastest_path(paths, [](const PathSnapshot& path) { return path.can_send(); });
}

// Fills the fastest path first, then the next fastest.
class MinimumRtt final : public PathScheduler {
 public:
  std::optional<std::size_t> select(std::span<const PathSnapshot> paths,
                                    const SendDemand&) override {
    return fastest_sendable_path(paths);
  }
};

}  // namespace sheaf::quic
