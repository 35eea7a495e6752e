#include "scheduler/path/weighted.h"

#include <algorithm>

namespace sheaf::quic {

Weighted::Service& Weighted::service(PathId path) {
  const auto found = std::ranges::find(services_, path, &Service::path);
  if (found != services_.end()) return *found;
  return services_.emplace_back(Service{.path = path, .virtual_time = now_});
}

std::optional<std::size_t> Weighted::select(std::span<const PathSnapshot> paths,
                                            const SendDemand&) {
  // Forgets paths that are gone, since ids are never used again (RFC 10069 §3.4).
  std::erase_if(services_, [&](const Service& known) {
    return std::ranges::find(paths, known.path, &PathSnapshot::id) == paths.end();
  });
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    Service& known = service(paths[i].id);
    known.weight = std::max(paths[i].weight, 1u);
    if (!paths[i].can_send()) continue;
    if (!best || known.virtual_time < least) {
      best = i;
      least = known.virtual_time;
    }
  }
  if (best) now_ = std::max(now_, least);
  return best;
}

void Weighted::on_sent(PathId path, std::uint64_t bytes) {
  Service& served = service(path);
  // A path that could not send for a while does not get the share that it missed.
  served.virtual_time =
      std::max(served.virtual_time, now_) + static_cast<double>(bytes) / served.weight;
}

}  // namespace sheaf::quic
