#include "scheduler/path/blest.h"

#include <algorithm>

namespace sheaf::quic {

bool Blest::worth_it(const PathSnapshot& slow, const PathSnapshot& fast, const SendDemand& demand) {
  if (fast.smoothed_rtt <= Duration::zero()) return true;
  // §III-B: what the fast path could send while one packet is in flight on the slow path, if its
  // window grows by a datagram per round trip
  const double rounds = std::chrono::duration<double>(slow.smoothed_rtt) /
                        std::chrono::duration<double>(fast.smoothed_rtt);
  const double growth = static_cast<double>(fast.datagram_size) * (rounds - 1) / 2;
  const double fast_bytes = (static_cast<double>(fast.window) + growth) * rounds;
  // The send window is what flow control still allows, minus the packet on the slow path. Data in
  // flight already counts against it.
  const double left =
      static_cast<double>(demand.flow_credit) - static_cast<double>(slow.datagram_size);
  const double wanted = std::min(fast_bytes, static_cast<double>(demand.unsent_bytes));
  return wanted <= left;
}

}  // namespace sheaf::quic
