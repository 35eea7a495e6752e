#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/multi_end/backend_host.h"
#include "sim/multi_end/content.h"
#include "sim/multi_end/content_relay.h"

namespace sheaf::quic {

// A client, the primary that it shook hands with, and backends (docs/internals/multi-end.md). Each
// is on a link of its own, with a backbone between the primary and the backends. All serve the same
// content; the primary proxies requests of the client to a backend. The primary hands over to and
// offers every backend, and the client opens what it is offered.
class MultiEndNetwork {
 public:
  // Silence on the backbone after which a primary abandons a backend, and the interval at which
  // they exchange messages
  static constexpr Duration k_backbone_silence = 3s;
  static constexpr Duration k_backbone_interval = 500ms;

  struct BackendLinks {
    LinkConfig client;
    LinkConfig primary;  // gives messages its delay, and carries proxied data
  };
  struct Options {
    LinkConfig primary;  // to the client
    std::vector<BackendLinks> backends;
    // One link of the client that carries all of its traffic
    std::optional<LinkConfig> access{};
    ConnectionConfig client, server;
    // Number of backends offered from the beginning; the others join later
    std::size_t first_backends = SIZE_MAX;
    StreamLease lease = {.credit = 64 << 10, .ids = {{{0, 4}, {0, 4}}}};
  };

  // `number` distinguishes the connections of one simulation.
  MultiEndNetwork(Simulation& simulation, const Options& options, std::size_t number = 0);

  Simulation& simulation() { return simulation_; }
  Connection& client() { return pair_->client.connection; }
  Connection& primary() { return pair_->server.connection; }
  BackendHost& backend(std::size_t index) { return *backends_[index].server; }
  std::size_t backends() const { return backends_.size(); }
  // Returns the client's path to the backend if it is validated, and open for new streams.
  std::optional<PathId> path_to(std::size_t backend) const;
  std::size_t open_paths() const;
  // Called after the network has seen the event.
  std::function<void(const Event&, Time)> on_client_event;

  // --- what happens to them ---------------------------------------------------------------------
  void join(std::size_t backend);  // hand over and offer
  void drain_backend(std::size_t backend);
  void crash_backend(std::size_t backend);
  void crash_primary();
  void cut_backbone(std::size_t backend);
  void cut_client_path(std::size_t backend);
  // Moves the client behind a new NAT mapping, which it does not notice.
  void rebind_client();
  // Moves all paths of the client to another address.
  void migrate_client();

 private:
  struct Backend {
    std::unique_ptr<BackendHost> server;
    std::unique_ptr<ContentServer> content;
    std::unique_ptr<ConnectionPair> upstream;  // from the primary, for what is proxied
    std::unique_ptr<ContentServer> upstream_content;
    NetworkPath* link = nullptr;           // to the client
    NetworkPath* upstream_link = nullptr;  // to the primary
    std::optional<PathId> offered, open;   // as the client knows it
    bool crashed = false;
    bool backbone_cut = false;
    bool drains = false;
    bool given_up = false;
    std::uint64_t heard_datagrams = 0;  // of the client, at the last interval
    Time heard{};                       // by the primary
  };

  Address address(std::uint8_t network, std::size_t host, std::uint16_t port) const;
  std::string name(const std::string& host) const;
  void add_primary();
  void add_backend(std::size_t index);
  void note_client_event(const Event& event, Time now);
  void note_primary_event(const Event& event, Time now);
  void on_backend_activity(std::size_t backend, Time now);
  void send_grants();
  void supervise();
  void give_up(std::size_t backend);
  // Delivers a message, unless one of the two is gone.
  void tell_primary(std::size_t backend, std::function<void()> message);
  void tell_backend(std::size_t backend, std::function<void(BackendHost&)> message);
  Duration backbone(std::size_t backend) const { return options_.backends[backend].primary.delay; }

  Simulation& simulation_;
  Options options_;
  std::size_t number_;
  std::size_t client_address_ = 0;  // counts up when it moves
  std::optional<std::size_t> access_;
  std::unique_ptr<ConnectionPair> pair_;
  NetworkPath* primary_link_ = nullptr;
  std::vector<Backend> backends_;
  std::unique_ptr<LeaseGrantor> grantor_;
  std::unique_ptr<ContentRelay> relay_;
  std::uint64_t primary_heard_ = 0;
  bool primary_crashed_ = false;
};

}  // namespace sheaf::quic
