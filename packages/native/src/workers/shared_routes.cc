#include "workers/shared_routes.h"

#include <mutex>

namespace sheaf::workers {

void SharedRoutes::add(const quic::ConnectionId& id, unsigned worker) {
  const std::unique_lock lock(mutex_);
  workers_[id] = worker;
}

void SharedRoutes::remove(const quic::ConnectionId& id, unsigned worker) {
  const std::unique_lock lock(mutex_);
  const auto found = workers_.find(id);
  if (found != workers_.end() && found->second == worker) workers_.erase(found);
}

void SharedRoutes::remove_all(unsigned worker) {
  const std::unique_lock lock(mutex_);
  std::erase_if(workers_, [worker](const auto& entry) { return entry.second == worker; });
}

std::optional<unsigned> SharedRoutes::find(const quic::ConnectionId& id) const {
  const std::shared_lock lock(mutex_);
  const auto found = workers_.find(id);
  if (found == workers_.end()) return std::nullopt;
  return found->second;
}

std::size_t SharedRoutes::size() const {
  const std::shared_lock lock(mutex_);
  return workers_.size();
}

}  // namespace sheaf::workers
