#pragma once

#include "scheduler/stream/flat_scheduler.h"

namespace sheaf::quic {

// FCFS: serves the stream that first had something to send to its end, then the next.
class FirstComeFirstServed final : public FlatScheduler {
 private:
  std::uint64_t place(std::uint64_t arrival) const override { return arrival; }
  bool takes_turns() const override { return false; }
};

}  // namespace sheaf::quic
