#pragma once

#include <optional>
#include <shared_mutex>
#include <unordered_map>

#include "wire/types.h"

namespace sheaf::workers {

// Which worker has the connection of an id that does not lead there by itself: ids that a client
// chose, where the kernel goes by addresses, and those of connections that were taken over from
// another server. All threads use it, for datagrams of no connection of their own. Connections are
// bounded, and so are their ids.
class SharedRoutes {
 public:
  void add(const quic::ConnectionId& id, unsigned worker);
  // Leaves the id alone where another worker has added it since.
  void remove(const quic::ConnectionId& id, unsigned worker);
  // Forgets the ids of a worker that is gone.
  void remove_all(unsigned worker);
  std::optional<unsigned> find(const quic::ConnectionId& id) const;
  std::size_t size() const;

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<quic::ConnectionId, unsigned> workers_;
};

}  // namespace sheaf::workers
