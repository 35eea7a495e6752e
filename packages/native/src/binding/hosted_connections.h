#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "binding/endpoint_settings.h"
#include "binding/hosted_connection.h"

namespace sheaf::binding {

// Holds the connections of an endpoint by the numbers that JavaScript uses for them, and lists
// those that have events to report.
class HostedConnections {
 public:
  HostedConnections(const EndpointSettings& settings, quic::Random& random);

  // Returns the entry of a connection, and numbers it when it is new.
  HostedConnection& host(quic::ConnectionDriver& driver);
  // Returns null when the connection is gone.
  HostedConnection* find(std::uint32_t handle);
  void erase(std::uint32_t handle) { hosted_.erase(handle); }
  void clear() { hosted_.clear(); }
  template <typename Visit>
  void for_each(Visit&& visit) {
    for (const auto& [handle, hosted] : hosted_) visit(*hosted);
  }

  // Lists a connection so that it reports its events once in this turn.
  void note_pending(HostedConnection& hosted);
  bool some_pending() const { return !pending_.empty(); }
  // Visits each listed connection that still exists once, and empties the list.
  template <typename Visit>
  void take_pending(Visit&& visit) {
    const std::vector<std::uint32_t> handles = std::exchange(pending_, {});
    for (const std::uint32_t handle : handles) {
      HostedConnection* hosted = find(handle);
      if (!hosted) continue;
      hosted->pending = false;
      visit(*hosted);
    }
  }

 private:
  const EndpointSettings& settings_;
  quic::Random& random_;
  std::optional<qlog::QlogDirectory> qlogs_;
  std::unordered_map<std::uint32_t, std::unique_ptr<HostedConnection>> hosted_;
  std::vector<std::uint32_t> pending_;
  std::uint32_t next_handle_ = 1;
};

}  // namespace sheaf::binding
