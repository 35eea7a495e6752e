#pragma once

#include "scheduler/path/fastest_first.h"

namespace sheaf::quic {

// BLEST (Ferlin et al., IFIP Networking 2016): puts no data on a slow path if it would fill the
// shared send window there, and so block the fast path.
class Blest final : public FastestFirst {
  bool worth_it(const PathSnapshot& slow, const PathSnapshot& fast,
                const SendDemand& demand) override;
};

}  // namespace sheaf::quic
