#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "emulation/units.h"
#include "sim/bulk_transfer.h"

namespace sheaf::quic {

// A client with several interfaces, and a server with one address or one for each of them. Prints
// its seed, which replays the run.
class World {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::vector<LinkConfig> links{};  // one path each, the same in both directions
    ConnectionConfig client{};
    ConnectionConfig server{};
  };

  explicit World(const Options& options)
      : trace_(__FILE__, __LINE__, "seed " + std::to_string(options.seed)),
        simulation(options.seed) {
    pair = std::make_unique<ConnectionPair>(
        simulation, ConnectionPair::Options{options.client, options.server, addresses(0)});
    for (std::size_t i = 0; i < options.links.size(); ++i) {
      const AddressPair path = addresses(i);
      links.push_back(
          &simulation.connect({"client", path.local}, {"server", path.remote}, options.links[i]));
    }
    for (const Role role : {Role::kClient, Role::kServer}) {
      pair->host(role).on_event = [this, role](const Event& event, Time) { note(role, event); };
    }
  }

  static AddressPair addresses(std::size_t interface) {
    AddressPair pair;
    pair.local.family = pair.remote.family = Address::Family::kIpv4;
    pair.local.ip = {10, 0, static_cast<std::uint8_t>(interface), 1};
    pair.local.port = 50'000;
    pair.remote.ip = {10, 1, 0, 1};
    pair.remote.port = 443;
    return pair;
  }

  Connection& client() { return pair->client.connection; }
  Connection& server() { return pair->server.connection; }
  Time now() const { return simulation.now(); }
  bool run_until(const std::function<bool()>& reached, Duration limit = std::chrono::seconds(60)) {
    return simulation.run_until(reached, limit) == Simulation::Outcome::kReached;
  }
  void run_for(Duration duration) { simulation.run_for(duration); }
  bool run_until_confirmed() {
    return run_until([this] { return count<HandshakeConfirmedEvent>(Role::kClient) > 0; });
  }
  // Runs until the path carries data in both directions.
  std::optional<PathId> open_path(std::size_t interface) {
    const auto id = client().paths().open(addresses(interface), now());
    if (!id) return std::nullopt;
    return run_until([&] { return validated(Role::kClient, *id) && validated(Role::kServer, *id); })
               ? std::optional(*id)
               : std::nullopt;
  }
  bool validated(Role role, PathId id) {
    for (const Event& event : events[role]) {
      const auto* found = std::get_if<PathValidatedEvent>(&event);
      if (found && found->path == id) return true;
    }
    return false;
  }
  void start(Role sender, std::uint64_t bytes) {
    transfer = std::make_unique<BulkTransfer>(*pair, sender, bytes);
    transfer->also = [this](Role role, const Event& event, Time) { note(role, event); };
  }
  bool run_until_transferred(Duration limit = std::chrono::seconds(120)) {
    return run_until([this] { return transfer->finished() || !ends.empty(); }, limit) &&
           transfer->finished() && transfer->intact();
  }
  void set_down(std::size_t interface, bool down) {
    links[interface]->there.change_at(now(), changed(links[interface]->there.config(), down));
    links[interface]->back.change_at(now(), changed(links[interface]->back.config(), down));
  }
  template <typename Kind>
  int count(Role role) {
    int found = 0;
    for (const Event& event : events[role]) found += std::holds_alternative<Kind>(event);
    return found;
  }
  std::optional<PathStats> stats(Role role, PathId id) {
    for (const PathStats& stats : pair->host(role).connection.paths().stats()) {
      if (stats.id == id) return stats;
    }
    return std::nullopt;
  }

 private:
  static LinkConfig changed(LinkConfig config, bool down) {
    config.down = down;
    return config;
  }
  void note(Role role, const Event& event) {
    events[role].push_back(event);
    if (const auto* closed = std::get_if<ConnectionClosed>(&event)) ends.push_back(*closed);
  }

  ::testing::ScopedTrace trace_;

 public:
  Simulation simulation;
  std::unique_ptr<ConnectionPair> pair;
  std::vector<NetworkPath*> links;
  std::map<Role, std::vector<Event>> events;
  std::vector<ConnectionClosed> ends;
  std::unique_ptr<BulkTransfer> transfer;
};

}  // namespace sheaf::quic
