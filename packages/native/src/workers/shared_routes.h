#pragma once

#include <optional>
#include <shared_mutex>
#include <unordered_map>

#include "endpoint/placement.h"
#include "wire/types.h"

namespace sheaf::workers {

// Which worker has the connection of an id that does not lead there by itself: ids that a client
// chose, where the kernel goes by addresses, and those of connections that were taken over from
// another server. All threads use it, for datagrams of no connection of their own. Connections are
// bounded, and so are their ids.
class SharedRoutes {
 public:
  using Source = quic::Placement::Source;
  struct Route {
    unsigned worker = 0;
    Source source = Source::kServer;
    bool operator==(const Route&) const = default;
  };

  void add(const quic::ConnectionId& id, const Route& route);
  // Leaves the id alone where another worker has added it since.
  void remove(const quic::ConnectionId& id, unsigned worker);
  // Forgets the ids of a worker that is gone.
  void remove_all(unsigned worker);
  // An id that a client chose leads its first packets alone, so that nobody draws another client's
  // packets to himself by choosing the id of its connection.
  std::optional<unsigned> find(const quic::ConnectionId& id, bool first_packet) const;
  std::size_t size() const;

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<quic::ConnectionId, Route> routes_;
};

}  // namespace sheaf::workers
