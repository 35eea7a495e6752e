#include "workers/shared_routes.h"

#include <mutex>

namespace sheaf::workers {

void SharedRoutes::add(const quic::ConnectionId& id, const Route& route) {
  const std::unique_lock lock(mutex_);
  const auto [place, added] = routes_.emplace(id, route);
  // A client that chooses the id of another connection leaves that one alone.
  if (!added && route.source == Source::kServer) place->second = route;
}

void SharedRoutes::remove(const quic::ConnectionId& id, unsigned worker) {
  const std::unique_lock lock(mutex_);
  const auto found = routes_.find(id);
  if (found != routes_.end() && found->second.worker == worker) routes_.erase(found);
}

void SharedRoutes::remove_all(unsigned worker) {
  const std::unique_lock lock(mutex_);
  std::erase_if(routes_, [worker](const auto& entry) { return entry.second.worker == worker; });
}

std::optional<unsigned> SharedRoutes::find(const quic::ConnectionId& id, bool first_packet) const {
  const std::shared_lock lock(mutex_);
  const auto found = routes_.find(id);
  if (found == routes_.end()) return std::nullopt;
  const Route& route = found->second;
  if (route.source == Source::kClient && !first_packet) return std::nullopt;
  return route.worker;
}

std::size_t SharedRoutes::size() const {
  const std::shared_lock lock(mutex_);
  return routes_.size();
}

}  // namespace sheaf::workers
