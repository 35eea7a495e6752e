#pragma once

#include "scheduler/path/minimum_rtt.h"

namespace sheaf::quic {

// Every path carries everything. The fastest path with room takes new data first, and the others
// send copies of data that is not acknowledged yet.
class Redundant final : public PathScheduler {
 public:
  std::optional<std::size_t> select(std::span<const PathSnapshot> paths,
                                    const SendDemand&) override {
    return fastest_sendable_path(paths);
  }
  bool duplicates() const override { return true; }
};

}  // namespace sheaf::quic
