#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "ends/connection_snapshot.h"
#include "ends/credit_leases.h"
#include "ends/exchange.h"
#include "sim/connection_pair.h"
#include "sim/units.h"

namespace sheaf::quic {

// A server that knows of a connection what a snapshot told it.
class EndServer final : public Host {
 public:
  explicit EndServer(Random& random) : random_(random) {}

  TransportStatus import(Bytes snapshot, const ConnectionConfig& own, Time now) {
    auto seed = decode_snapshot(snapshot);
    if (!seed) return TransportError{TransportErrorCode::kInternalError, 0, "snapshot refused"};
    connection = std::make_unique<Connection>(Role::kServer, seed->adapt(own), random_, now);
    connection->set_reset_key(std::vector<std::uint8_t>(32, 0x3c));
    exchange = std::make_unique<ServerExchange>(*connection);
    leases = std::make_unique<LeaseHolder>(connection->shared_limits(), seed->lease);
    return connection->establish_end(*seed, now);
  }
  // Without a word; whatever arrives afterwards is for nobody.
  void crash() {
    exchange.reset();
    leases.reset();
    connection.reset();
  }

  void receive(const Datagram& datagram, Time now) override {
    ++datagrams;
    handshake_packets += (datagram.payload[0] & 0x80) != 0;
    if (!connection) return;
    connection->receive(datagram, now);
    deliver_events(now);
  }
  void poll_transmit(TransmitBatch& batch, Time now) override {
    batch.size = 0;
    if (connection) connection->poll_transmit(batch, now);
  }
  Time next_timeout() const override { return connection ? connection->next_timeout() : k_never; }
  void on_timeout(Time now) override {
    if (!connection) return;
    connection->on_timeout(now);
    deliver_events(now);
  }
  void deliver_events(Time now) {
    while (const auto event = connection->poll_event()) {
      events.push_back(*event);
      exchange->on_event(*event, now);
    }
    while (connection->poll_id_change()) {
    }
  }

  std::unique_ptr<Connection> connection;
  std::unique_ptr<ServerExchange> exchange;
  std::unique_ptr<LeaseHolder> leases;
  std::vector<Event> events;
  std::uint64_t datagrams = 0;
  std::uint64_t handshake_packets = 0;

 private:
  Random& random_;
};

// A client, the primary that it shook hands with, and ends on links of their own. Snapshots and
// messages between the servers take `backbone` each way. Prints its seed, which replays it.
class EndsWorld {
 public:
  struct Options {
    std::uint64_t seed = 1;
    LinkConfig primary_link{};
    std::vector<LinkConfig> end_links{};
    Duration backbone = 2ms;
    ConnectionConfig client = with_ends();
    ConnectionConfig server = with_ends();
    StreamLease lease = {.credit = 32 << 10, .ids = {{{0, 4}, {0, 4}}}};
  };

  static ConnectionConfig with_ends() {
    ConnectionConfig config;
    config.multi_end = EndKeyModes::k_all;
    return config;
  }

  explicit EndsWorld(const Options& given)
      : trace_(__FILE__, __LINE__, "seed " + std::to_string(given.seed)),
        options(given),
        simulation(given.seed) {
    pair = std::make_unique<ConnectionPair>(
        simulation, ConnectionPair::Options{options.client, options.server, addresses(0)});
    primary_path = &simulation.connect({"client", addresses(0).local},
                                       {"server", addresses(0).remote}, options.primary_link);
    for (std::size_t i = 0; i < options.end_links.size(); ++i) {
      const std::string name = "end" + std::to_string(i);
      ends.push_back(std::make_unique<EndServer>(simulation.random()));
      simulation.add_host(name, *ends.back());
      links.push_back(&simulation.connect({"client", addresses(i + 1).local},
                                          {name, addresses(i + 1).remote}, options.end_links[i]));
    }
    grantor = std::make_unique<LeaseGrantor>(primary().shared_limits());
    exchange_leases();
    client_exchange = std::make_unique<ClientExchange>(client());
    server_exchange = std::make_unique<ServerExchange>(primary());
    pair->client.on_event = [this](const Event& event, Time now) {
      events[Role::kClient].push_back(event);
      client_exchange->on_event(event, now);
    };
    pair->server.on_event = [this](const Event& event, Time now) {
      events[Role::kServer].push_back(event);
      if (const auto* left = std::get_if<EndLeftEvent>(&event)) {
        grantor->settle(left->path, left->use, now);
      }
      server_exchange->on_event(event, now);
    };
  }

  // The client as it sees the primary (0) and the ends (from 1).
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
    // The client's connection ids for the paths arrive.
    run_for(300ms);
    return true;
  }
  // Hands over, and offers once the end has it. False when the primary cannot.
  bool offer(std::size_t end) {
    const EndId id{static_cast<std::uint32_t>(end)};
    auto seed = primary().hand_over(id, addresses(end + 1).remote, options.lease);
    if (!seed) return false;
    grantor->add(id, seed->keys.path, seed->lease);
    if (tamper) tamper(*seed);
    std::vector<std::uint8_t> snapshot = encode_snapshot(*seed);
    simulation.after(options.backbone, [this, end, id, snapshot] {
      EXPECT_TRUE(ends[end]->import(snapshot, options.server, now()));
      simulation.after(options.backbone, [this, id] { EXPECT_TRUE(primary().offer_end(id)); });
    });
    return true;
  }
  // Until the client has validated a path to it.
  std::optional<PathId> open(std::size_t end) {
    const EndId id{static_cast<std::uint32_t>(end)};
    std::optional<PathId> path;
    const auto opened = [&] {
      if (const auto result = client().open_end(id, addresses(0).local, now())) path = *result;
      return path.has_value();
    };
    if (!offer(end) || !run_until(opened)) return std::nullopt;
    return run_until([&] { return validated(*path); }) ? path : std::nullopt;
  }
  const EndOfferedEvent* offered(EndId end) {
    return find<EndOfferedEvent>(Role::kClient,
                                 [&](const auto& event) { return event.end == end; });
  }
  bool validated(PathId path) {
    return find<PathValidatedEvent>(Role::kClient,
                                    [&](const auto& event) { return event.path == path; });
  }
  const PathAbandonedEvent* abandoned(PathId path) {
    return find<PathAbandonedEvent>(Role::kClient,
                                    [&](const auto& event) { return event.path == path; });
  }
  void set_down(std::size_t end, bool down) {
    NetworkPath& link = *links[end];
    link.there.change_at(now(), changed(link.there.config(), down));
    link.back.change_at(now(), changed(link.back.config(), down));
  }
  std::optional<PathStats> stats(PathId id) {
    for (const PathStats& stats : client().path_stats()) {
      if (stats.id == id) return stats;
    }
    return std::nullopt;
  }

 private:
  // What the nodes around the engine do: carry messages when there are some.
  void exchange_leases() {
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (!ends[i]->leases) continue;
      const EndId id{static_cast<std::uint32_t>(i)};
      if (const auto request = ends[i]->leases->poll_request(now())) {
        simulation.after(options.backbone, [this, id, request] {
          primary().heard_elsewhere(now());
          if (const auto grant = grantor->on_request(id, *request)) tell(id, *grant);
        });
      }
      if (const auto given_up = ends[i]->leases->poll_return(now())) {
        simulation.after(options.backbone,
                         [this, id, given_up] { grantor->on_return(id, *given_up); });
      }
      if (const auto report = ends[i]->leases->poll_report(now())) {
        simulation.after(options.backbone, [this, id, report] {
          primary().heard_elsewhere(now());
          grantor->on_report(id, *report, now());
        });
      }
    }
    for (const auto& [end, grant] : grantor->poll_grants()) tell(end, grant);
    simulation.after(2ms, [this] { exchange_leases(); });
  }
  void tell(EndId end, const LeaseGrant& grant) {
    simulation.after(options.backbone, [this, end, grant] {
      EndServer& server = *ends[end.value];
      if (!server.leases) return;
      server.connection->heard_elsewhere(now());
      server.leases->on_grant(grant);
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
  std::vector<std::unique_ptr<EndServer>> ends;
  std::vector<NetworkPath*> links;  // to the ends
  NetworkPath* primary_path = nullptr;
  std::function<void(EndSeed&)> tamper;  // with what an end gets
  std::unique_ptr<LeaseGrantor> grantor;
  std::unique_ptr<ClientExchange> client_exchange;
  std::unique_ptr<ServerExchange> server_exchange;
  std::map<Role, std::vector<Event>> events;
};

}  // namespace sheaf::quic
