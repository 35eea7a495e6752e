#pragma once

#include "scheduler/path/path_scheduler.h"

namespace sheaf::quic {

// Selects the fastest path while it can send. Otherwise it selects the next one that can, if a
// packet there is worth it, which ECF and BLEST decide differently.
class FastestFirst : public PathScheduler {
 public:
  std::optional<std::size_t> select(std::span<const PathSnapshot> paths,
                                    const SendDemand& demand) final;

 private:
  // Returns false to wait for `fast`. `slow` can send, and is not faster.
  virtual bool worth_it(const PathSnapshot& slow, const PathSnapshot& fast,
                        const SendDemand& demand) = 0;
};

}  // namespace sheaf::quic
