#include "scheduler/path/fastest_first.h"

#include "scheduler/path/minimum_rtt.h"

namespace sheaf::quic {

std::optional<std::size_t> FastestFirst::select(std::span<const PathSnapshot> paths,
                                                const SendDemand& demand) {
  const std::size_t fastest = *fastest_path(paths, [](const PathSnapshot&) { return true; });
  if (paths[fastest].can_send()) return fastest;
  const auto slower = fastest_sendable_path(paths);
  if (!slower || worth_it(paths[*slower], paths[fastest], demand)) return slower;
  return std::nullopt;
}

}  // namespace sheaf::quic
