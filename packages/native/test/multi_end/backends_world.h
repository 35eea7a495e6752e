#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "emulation/units.h"
#include "multi_end/backends.h"
#include "multi_end/connection_snapshot.h"
#include "multi_end/credit_leases.h"
#include "multi_end/exchange.h"
#include "sim/connection_pair.h"
#include "sim/multi_end/backend_host.h"

namespace sheaf::quic {

// A backend and its application.
struct BackendServer {
  explicit BackendServer(Random& random) : host(random) {
    host.on_event = [this](const Event& event, Time now) {
      events.push_back(event);
      exchange->on_event(event, now);
    };
  }

  TransportStatus import(Bytes snapshot, const ConnectionConfig& own, Time now) {
    const TransportStatus taken = host.import(snapshot, own, now);
    if (taken) exchange = std::make_unique<ServerExchange>(*host.connection());
    return taken;
  }
  void crash() {
    exchange.reset();
    host.forget();
  }
  Connection& connection() { return *host.connection(); }

  BackendHost host;
  std::unique_ptr<ServerExchange> exchange;
  std::vector<Event> events;
  bool mute = false;  // its messages to the primary are lost
};

// A client, the primary that did its handshake, and backends, each on its own link. Snapshots and
// messages between the servers take `backbone` in each direction. Prints its seed, which replays
// the run.
class BackendsWorld {
 public:
  struct Options {
    std::uint64_t seed = 1;
    LinkConfig primary_link{};
    std::vector<LinkConfig> backend_links{};
    Duration backbone = 2ms;
    ConnectionConfig client = with_backends();
    ConnectionConfig server = with_backends();
    StreamLease lease = {.credit = 32 << 10, .ids = {{{0, 4}, {0, 4}}}};
  };

  static ConnectionConfig with_backends() {
    ConnectionConfig config;
    offer_multi_end(config, BackendKeyModes::k_all);
    return config;
  }

  explicit BackendsWorld(const Options& given)
      : trace_(__FILE__, __LINE__, "seed " + std::to_string(given.seed)),
        options(given),
        simulation(given.seed) {
    pair = std::make_unique<ConnectionPair>(
        simulation, ConnectionPair::Options{options.client, options.server, addresses(0)});
    primary_path = &simulation.connect({"client", addresses(0).local},
                                       {"server", addresses(0).remote}, options.primary_link);
    for (std::size_t i = 0; i < options.backend_links.size(); ++i) {
      const std::string name = "backend" + std::to_string(i);
      backends.push_back(std::make_unique<BackendServer>(simulation.random()));
      simulation.add_host(name, backends.back()->host);
      backends.back()->host.on_activity = [this, i](Time) { tell_primary(i); };
      links.push_back(&simulation.connect({"client", addresses(i + 1).local},
                                          {name, addresses(i + 1).remote},
                                          options.backend_links[i]));
    }
    grantor = std::make_unique<LeaseGrantor>(shared_limits(primary()));
    pair->server.on_activity = [this](Time) { tell_backends(); };
    client_exchange = std::make_unique<ClientExchange>(client());
    server_exchange = std::make_unique<ServerExchange>(primary());
    pair->client.on_event = [this](const Event& event, Time now) {
      events[Role::kClient].push_back(event);
      client_exchange->on_event(event, now);
    };
    pair->server.on_event = [this](const Event& event, Time now) {
      events[Role::kServer].push_back(event);
      if (const auto* left = std::get_if<BackendLeftEvent>(&event)) {
        grantor->settle(left->path, left->use, now);
      }
      server_exchange->on_event(event, now);
    };
  }

  // Returns the client's path to the primary (0) or to a backend (from 1).
  static AddressPair addresses(std::size_t server) {
    AddressPair pair;
    pair.local.family = pair.remote.family = Address::Family::kIpv4;
    pair.local.ip = {10, 0, 0, 1};
    pair.local.port = 50'000;
    pair.remote.ip = {10, 1, static_cast<std::uint8_t>(server), 1};
    pair.remote.port = 443;
    return pair;
  }

  Connection& client() { return pair->client.connection; }
  Connection& primary() { return pair->server.connection; }
  Time now() const { return simulation.now(); }
  bool run_until(const std::function<bool()>& reached, Duration limit = 60s) {
    return simulation.run_until(reached, limit) == Simulation::Outcome::kReached;
  }
  void run_for(Duration duration) { simulation.run_for(duration); }

  template <typename Kind>
  const Kind* find(Role role, const std::function<bool(const Kind&)>& fits) {
    for (const Event& event : events[role]) {
      const Kind* found = std::get_if<Kind>(&event);
      if (found && fits(*found)) return found;
    }
    return nullptr;
  }
  template <typename Kind>
  int count(Role role) {
    int found = 0;
    for (const Event& event : events[role]) found += std::holds_alternative<Kind>(event);
    return found;
  }

  bool run_until_confirmed() {
    if (!run_until([this] { return count<HandshakeConfirmedEvent>(Role::kClient) > 0; })) {
      return false;
    }
    // Runs until the client's connection ids for the paths have arrived.
    run_for(300ms);
    return true;
  }
  // Hands a path over, and offers the backend once it has the snapshot. Returns false when the
  // primary cannot hand over.
  bool offer(std::size_t backend) {
    const BackendId id{static_cast<std::uint32_t>(backend)};
    auto seed = hand_over(primary(), id, addresses(backend + 1).remote, options.lease);
    if (!seed) return false;
    grantor->add(id, seed->keys.path, seed->lease);
    if (tamper) tamper(*seed);
    std::vector<std::uint8_t> snapshot = encode_snapshot(*seed);
    simulation.after(options.backbone, [this, backend, id, snapshot] {
      EXPECT_TRUE(backends[backend]->import(snapshot, options.server, now()));
      simulation.after(options.backbone, [this, id] { EXPECT_TRUE(offer_backend(primary(), id)); });
    });
    return true;
  }
  // Runs until the client has validated a path to the backend.
  std::optional<PathId> open(std::size_t backend) {
    const BackendId id{static_cast<std::uint32_t>(backend)};
    std::optional<PathId> path;
    const auto opened = [&] {
      if (const auto result = open_backend(client(), id, addresses(0).local, now())) path = *result;
      return path.has_value();
    };
    if (!offer(backend) || !run_until(opened)) return std::nullopt;
    return run_until([&] { return validated(*path); }) ? path : std::nullopt;
  }
  const BackendOfferedEvent* offered(BackendId backend) {
    return find<BackendOfferedEvent>(Role::kClient,
                                     [&](const auto& event) { return event.backend == backend; });
  }
  bool validated(PathId path) {
    return find<PathValidatedEvent>(Role::kClient,
                                    [&](const auto& event) { return event.path == path; });
  }
  const PathAbandonedEvent* abandoned(PathId path) {
    return find<PathAbandonedEvent>(Role::kClient,
                                    [&](const auto& event) { return event.path == path; });
  }
  void set_down(std::size_t backend, bool down) {
    NetworkPath& link = *links[backend];
    link.there.change_at(now(), changed(link.there.config(), down));
    link.back.change_at(now(), changed(link.back.config(), down));
  }
  std::optional<PathStats> stats(PathId id) {
    for (const PathStats& stats : client().paths().stats()) {
      if (stats.id == id) return stats;
    }
    return std::nullopt;
  }

 private:
  // Does the work of the nodes around the engine: carries the messages that are due.
  void tell_primary(std::size_t index) {
    LeaseHolder& leases = *backends[index]->host.leases();
    const BackendId id{static_cast<std::uint32_t>(index)};
    if (const auto request = leases.poll_request(now())) {
      send(index, [this, id, request] {
        if (const auto grant = grantor->on_request(id, *request)) tell(id, *grant);
      });
    }
    if (const auto given_up = leases.poll_return(now())) {
      send(index, [this, id, given_up] { grantor->on_return(id, *given_up); });
    }
    if (const auto report = leases.poll_report(now())) {
      send(index, [this, id, report] { grantor->on_report(id, *report, now()); });
    }
  }
  void send(std::size_t from, std::function<void()> message) {
    if (backends[from]->mute) return;
    simulation.after(options.backbone, [this, message = std::move(message)] {
      heard_elsewhere(primary(), now());
      message();
      tell_backends();
    });
  }
  void tell_backends() {
    for (const auto& [backend, grant] : grantor->poll_grants()) tell(backend, grant);
  }
  void tell(BackendId backend, const LeaseGrant& grant) {
    simulation.after(options.backbone, [this, backend, grant] {
      BackendHost& host = backends[backend.value]->host;
      if (!host.leases()) return;
      heard_elsewhere(*host.connection(), now());
      host.leases()->on_grant(grant);
    });
  }
  static LinkConfig changed(LinkConfig config, bool down) {
    config.down = down;
    return config;
  }
  ::testing::ScopedTrace trace_;

 public:
  Options options;
  Simulation simulation;
  std::unique_ptr<ConnectionPair> pair;
  std::vector<std::unique_ptr<BackendServer>> backends;
  std::vector<NetworkPath*> links;  // to the backends
  NetworkPath* primary_path = nullptr;
  std::function<void(BackendSeed&)> tamper;  // with what a backend gets
  std::unique_ptr<LeaseGrantor> grantor;
  std::unique_ptr<ClientExchange> client_exchange;
  std::unique_ptr<ServerExchange> server_exchange;
  std::map<Role, std::vector<Event>> events;
};

}  // namespace sheaf::quic
