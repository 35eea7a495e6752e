#pragma once

#include <vector>

#include "scheduler/path/path_scheduler.h"

namespace sheaf::quic {

// Distributes bytes in proportion to the weights while all paths have room. What a full path cannot
// take goes to the others, and is not made up for.
class Weighted final : public PathScheduler {
 public:
  std::optional<std::size_t> select(std::span<const PathSnapshot> paths,
                                    const SendDemand& demand) override;
  void on_sent(PathId path, std::uint64_t bytes) override;

 private:
  // Progress of a path's service, in bytes divided by weight (start-time fair queueing)
  struct Service {
    PathId path;
    std::uint32_t weight = 1;
    double virtual_time = 0;
  };
  Service& service(PathId path);

  std::vector<Service> services_;  // at most one per path id in use
  double now_ = 0;                 // virtual time of the path served last
};

}  // namespace sheaf::quic
