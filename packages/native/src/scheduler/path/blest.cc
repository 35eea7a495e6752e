#include "scheduler/path/blest.h"

#include <algorithm>

#include "scheduler/path/minimum_rtt.h"

namespace sheaf::quic {

std::optional<std::size_t> Blest::select(std::span<const PathSnapshot> paths,
                                         const SendDemand& demand) {
  const std::size_t fastest = *fastest_path(paths, [](const PathSnapshot&) { return true; });
  if (paths[fastest].can_send()) return fastest;
  const auto slower = fastest_sendable_path(paths);
  if (!slower) return std::nullopt;

  const PathSnapshot& fast = paths[fastest];
  const PathSnapshot& slow = paths[*slower];
  if (fast.smoothed_rtt <= Duration::zero()) return slower;
  // §III-B: what the fast path could send, with its window growing by a datagram a round trip,
  // while one packet is under way on the slow path.
  const double rounds = std::chrono::duration<double>(slow.smoothed_rtt) /
                        std::chrono::duration<double>(fast.smoothed_rtt);
  const double growth = static_cast<double>(fast.datagram_size) * (rounds - 1) / 2;
  const double fast_bytes = (static_cast<double>(fast.window) + growth) * rounds;
  // The send window is what flow control still allows, the packet on the slow path taken off. Data
  // that is under way already counts against it.
  const double left = static_cast<double>(demand.flow_credit) -
                      static_cast<double>(slow.datagram_size);
  const double wanted = std::min(fast_bytes, static_cast<double>(demand.unsent_bytes));
  if (wanted > left) return std::nullopt;
  return slower;
}

}  // namespace sheaf::quic
