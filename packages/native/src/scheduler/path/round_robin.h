#pragma once

#include "scheduler/path/path_scheduler.h"

namespace sheaf::quic {

// Uses the paths that can send in turn, packet by packet.
class RoundRobin final : public PathScheduler {
 public:
  std::optional<std::size_t> select(std::span<const PathSnapshot> paths,
                                    const SendDemand&) override {
    // Ids are in order: takes the first one above the last one used, or else the first of all.
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (!paths[i].can_send()) continue;
      if (last_ && paths[i].id > *last_) return i;
      if (!first) first = i;
    }
    return first;
  }
  void on_sent(PathId path, std::uint64_t) override { last_ = path; }

 private:
  std::optional<PathId> last_;
};

}  // namespace sheaf::quic
