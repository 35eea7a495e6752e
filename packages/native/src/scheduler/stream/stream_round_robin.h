#pragma once

#include "scheduler/stream/flat_scheduler.h"

namespace sheaf::quic {

// RR of Nguyen et al. §2.4: all streams in turn, packet by packet, whatever their priorities
class StreamRoundRobin final : public FlatScheduler {
 private:
  std::uint64_t place(std::uint64_t) const override { return 0; }
  bool takes_turns() const override { return true; }
};

}  // namespace sheaf::quic
