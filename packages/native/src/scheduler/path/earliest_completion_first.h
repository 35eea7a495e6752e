#pragma once

#include "scheduler/path/fastest_first.h"

namespace sheaf::quic {

// ECF (Lim et al., CoNEXT 2017): when the fastest path is full, waits for it if it would deliver
// the remaining data before one round trip of the slower path is over.
class EarliestCompletionFirst final : public FastestFirst {
  bool worth_it(const PathSnapshot& slow, const PathSnapshot& fast,
                const SendDemand& demand) override;

  bool waiting_ = false;
};

}  // namespace sheaf::quic
