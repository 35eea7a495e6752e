#pragma once

#include "util/time.h"

namespace sheaf::quic {

// Policy: the longest time between two probes (docs/decisions/0006). Eight such times fit into the
// idle timeout, so a path that works again is found before the connection ends.
constexpr Duration longest_probe_wait(Duration idle_timeout) {
  constexpr int k_probes_before_idle = 8;
  return idle_timeout > Duration::zero() ? idle_timeout / k_probes_before_idle : Duration::max();
}

}  // namespace sheaf::quic
