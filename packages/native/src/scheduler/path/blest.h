#pragma once

#include "scheduler/path/path_scheduler.h"

namespace sheaf::quic {

// BLEST (Ferlin et al., IFIP Networking 2016): does not put data on a slow path where it would fill
// the shared send window and so block the fast path.
class Blest final : public PathScheduler {
 public:
  std::optional<std::size_t> select(std::span<const PathSnapshot> paths,
                                    const SendDemand& demand) override;
};

}  // namespace sheaf::quic
