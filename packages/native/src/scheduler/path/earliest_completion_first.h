#pragma once

#include "scheduler/path/path_scheduler.h"

namespace sheaf::quic {

// ECF (Lim et al., CoNEXT 2017): when the fastest path is full, waits for it if the data that is
// left would be through it before one round trip of the slower path is over.
class EarliestCompletionFirst final : public PathScheduler {
 public:
  std::optional<std::size_t> select(std::span<const PathSnapshot> paths,
                                    const SendDemand& demand) override;

 private:
  bool waiting_ = false;
};

}  // namespace sheaf::quic
