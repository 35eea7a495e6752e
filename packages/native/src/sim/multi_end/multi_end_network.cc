#include "sim/multi_end/multi_end_network.h"

#include <algorithm>
#include <cassert>

#include "multi_end/backends.h"
#include "multi_end/connection_snapshot.h"
#include "sim/addresses.h"

namespace sheaf::quic {

namespace {

constexpr std::uint8_t k_client_network = 1, k_primary_network = 2, k_backend_network = 3,
                       k_backbone_network = 4;
constexpr std::uint16_t k_server_port = 443, k_client_port = 50'000;

void set_down(NetworkPath& path, Time now) {
  for (Link* link : {&path.there, &path.back}) {
    LinkConfig config = link->config();
    config.down = true;
    link->change_at(now, config);
  }
}

std::uint64_t packets_received(const Connection& connection) {
  std::uint64_t sum = 0;
  for (const PathStats& path : connection.paths().stats()) sum += path.packets_received;
  return sum;
}

}  // namespace

MultiEndNetwork::MultiEndNetwork(Simulation& simulation, const Options& options, std::size_t number)
    : simulation_(simulation),
      options_(options),
      number_(number),
      backends_(options.backends.size()) {
  if (options_.access) access_ = simulation_.add_trunk(*options_.access);
  add_primary();
  for (std::size_t i = 0; i < backends_.size(); ++i) add_backend(i);
  std::vector<ConnectionHost*> upstream;
  for (Backend& backend : backends_) upstream.push_back(&backend.upstream->client);
  relay_ = std::make_unique<ContentRelay>(simulation_, pair_->server, std::move(upstream));
  for (std::size_t i = 0; i < std::min(backends_.size(), options_.first_backends); ++i) join(i);
  supervise();
}

Address MultiEndNetwork::address(std::uint8_t network, std::size_t host, std::uint16_t port) const {
  return ipv4({10, network, static_cast<std::uint8_t>(number_), static_cast<std::uint8_t>(host)},
              port);
}

std::string MultiEndNetwork::name(const std::string& host) const {
  return host + " " + std::to_string(number_);
}

void MultiEndNetwork::add_primary() {
  const AddressPair path{address(k_client_network, client_address_, k_client_port),
                         address(k_primary_network, 0, k_server_port)};
  pair_ = std::make_unique<ConnectionPair>(simulation_,
                                           ConnectionPair::Options{.client = options_.client,
                                                                   .server = options_.server,
                                                                   .path = path,
                                                                   .client_name = name("client"),
                                                                   .server_name = name("primary")});
  primary_link_ = &simulation_.connect({name("client"), path.local}, {name("primary"), path.remote},
                                       options_.primary);
  if (access_) simulation_.lead_through(*primary_link_, *access_);
  grantor_ = std::make_unique<LeaseGrantor>(shared_limits(primary()));
  pair_->client.on_event = [this](const Event& event, Time now) {
    note_client_event(event, now);
    if (on_client_event) on_client_event(event, now);
  };
  pair_->server.on_event = [this](const Event& event, Time now) { note_primary_event(event, now); };
  pair_->server.on_activity = [this](Time) { send_grants(); };
}

void MultiEndNetwork::add_backend(std::size_t index) {
  Backend& backend = backends_[index];
  const std::string host = name("backend " + std::to_string(index));
  backend.heard = simulation_.now();
  backend.server = std::make_unique<BackendHost>(simulation_.random());
  backend.server->on_event = [this, index](const Event& event, Time now) {
    const auto* stream = std::get_if<StreamEvent>(&event);
    if (stream && backends_[index].content) backends_[index].content->on_event(*stream, now);
  };
  backend.server->on_activity = [this, index](Time now) { on_backend_activity(index, now); };
  simulation_.add_host(host, *backend.server);
  backend.link = &simulation_.connect(
      {name("client"), address(k_client_network, client_address_, k_client_port)},
      {host, address(k_backend_network, index, k_server_port)}, options_.backends[index].client);
  if (access_) simulation_.lead_through(*backend.link, *access_);

  const AddressPair backbone{address(k_backbone_network, index, k_client_port),
                             address(k_backbone_network, index, k_server_port)};
  backend.upstream = std::make_unique<ConnectionPair>(
      simulation_, ConnectionPair::Options{.client = options_.server,
                                           .server = options_.server,
                                           .path = backbone,
                                           .client_name = host + " from primary",
                                           .server_name = host + " to primary"});
  backend.upstream_link = &simulation_.connect({host + " from primary", backbone.local},
                                               {host + " to primary", backbone.remote},
                                               options_.backends[index].primary);
  backend.upstream_content = std::make_unique<ContentServer>(backend.upstream->server.connection);
  backend.upstream->server.on_event = [this, index](const Event& event, Time now) {
    const auto* stream = std::get_if<StreamEvent>(&event);
    if (stream) backends_[index].upstream_content->on_event(*stream, now);
  };
}

std::optional<PathId> MultiEndNetwork::path_to(std::size_t backend) const {
  return backends_[backend].open;
}

std::size_t MultiEndNetwork::open_paths() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      backends_, [](const Backend& backend) { return backend.open.has_value(); }));
}

// --- hand-over ----------------------------------------------------------------------------------

void MultiEndNetwork::join(std::size_t index) {
  if (primary_crashed_ || !multi_end_negotiated(primary())) return;
  const BackendId id{static_cast<std::uint32_t>(index)};
  auto seed = hand_over(primary(), id, backends_[index].link->far.address, options_.lease);
  if (!seed) {
    // The handshake is not confirmed, or connection ids for the path have not arrived.
    if (seed.error() == BackendRefusal::kNotReady || seed.error() == BackendRefusal::kNoPath) {
      simulation_.after(10ms, [this, index] { join(index); });
    }
    return;
  }
  grantor_->add(id, seed->keys.path, seed->lease);
  tell_backend(index, [this, index, id, snapshot = encode_snapshot(*seed)](BackendHost& server) {
    const bool imported =
        static_cast<bool>(server.import(snapshot, options_.server, simulation_.now()));
    assert(imported);
    if (!imported) return;
    backends_[index].content = std::make_unique<ContentServer>(*server.connection());
    tell_primary(index, [this, id] { static_cast<void>(offer_backend(primary(), id)); });
  });
}

void MultiEndNetwork::note_client_event(const Event& event, Time now) {
  if (const auto* offer = std::get_if<BackendOfferedEvent>(&event)) {
    Backend& backend = backends_[offer->backend.value];
    const auto path = open_backend(client(), offer->backend,
                                   address(k_client_network, client_address_, k_client_port), now);
    if (path) backend.offered = *path;
  } else if (const auto* validated = std::get_if<PathValidatedEvent>(&event)) {
    for (Backend& backend : backends_) {
      if (backend.offered == validated->path) backend.open = validated->path;
    }
  } else if (const auto* withdrawn = std::get_if<BackendWithdrawnEvent>(&event)) {
    backends_[withdrawn->backend.value].open = backends_[withdrawn->backend.value].offered =
        std::nullopt;
  } else if (const auto* abandoned = std::get_if<PathAbandonedEvent>(&event)) {
    for (Backend& backend : backends_) {
      if (backend.offered == abandoned->path) backend.open = backend.offered = std::nullopt;
    }
  }
}

void MultiEndNetwork::note_primary_event(const Event& event, Time now) {
  if (const auto* stream = std::get_if<StreamEvent>(&event)) relay_->on_client_event(*stream, now);
  if (const auto* left = std::get_if<BackendLeftEvent>(&event)) {
    const std::size_t index = left->backend.value;
    grantor_->settle(left->path, left->use, now);
    tell_backend(index, [this, index](BackendHost& server) {
      backends_[index].content.reset();
      server.forget();
    });
  }
}

// --- backbone -----------------------------------------------------------------------------------

void MultiEndNetwork::tell_primary(std::size_t backend, std::function<void()> message) {
  if (backends_[backend].backbone_cut) return;
  simulation_.after(backbone(backend), [this, backend, message = std::move(message)] {
    if (!primary_crashed_ && !backends_[backend].backbone_cut) message();
  });
}

void MultiEndNetwork::tell_backend(std::size_t backend, std::function<void(BackendHost&)> message) {
  if (backends_[backend].backbone_cut || primary_crashed_) return;
  simulation_.after(backbone(backend), [this, backend, message = std::move(message)] {
    if (!backends_[backend].crashed && !backends_[backend].backbone_cut)
      message(*backends_[backend].server);
  });
}

void MultiEndNetwork::on_backend_activity(std::size_t index, Time now) {
  Backend& backend = backends_[index];
  LeaseHolder& leases = *backend.server->leases();
  const BackendId id{static_cast<std::uint32_t>(index)};
  if (const auto request = leases.poll_request(now)) {
    tell_primary(index, [this, index, id, request] {
      const auto grant = grantor_->on_request(id, *request);
      if (grant) {
        tell_backend(index, [grant](BackendHost& server) {
          if (server.leases()) server.leases()->on_grant(*grant);
        });
      }
    });
  }
  if (const auto report = leases.poll_report(now)) {
    tell_primary(index,
                 [this, id, report] { grantor_->on_report(id, *report, simulation_.now()); });
  }
  if (const auto given_up = leases.poll_return(now)) {
    tell_primary(index, [this, id, given_up] { grantor_->on_return(id, *given_up); });
  }
  if (backend.drains && !backend.given_up && backend.content->open() == 0) {
    backend.given_up = true;
    tell_primary(index,
                 [this, id, given_up = leases.give_up()] { grantor_->on_return(id, given_up); });
  }
}

void MultiEndNetwork::send_grants() {
  if (!grantor_) return;
  for (const auto& [id, grant] : grantor_->poll_grants()) {
    tell_backend(id.value, [grant = grant](BackendHost& server) {
      if (server.leases()) server.leases()->on_grant(grant);
    });
  }
}

// Both regularly tell each other that they live, and whether they hear the client.
void MultiEndNetwork::supervise() {
  const Time now = simulation_.now();
  const std::uint64_t heard_here = packets_received(primary());
  for (std::size_t i = 0; i < backends_.size() && !primary_crashed_; ++i) {
    Backend& backend = backends_[i];
    if (!backend.crashed) {
      const bool hears = backend.server->datagrams() > backend.heard_datagrams;
      backend.heard_datagrams = backend.server->datagrams();
      tell_primary(i, [this, i, hears] {
        backends_[i].heard = simulation_.now();
        if (hears) heard_elsewhere(primary(), simulation_.now());
      });
    }
    if (heard_here > primary_heard_) {
      tell_backend(i, [this](BackendHost& server) {
        if (server.connection()) heard_elsewhere(*server.connection(), simulation_.now());
      });
    }
    if (now - backend.heard > k_backbone_silence) give_up(i);
  }
  primary_heard_ = heard_here;
  simulation_.after(k_backbone_interval, [this] { supervise(); });
}

void MultiEndNetwork::give_up(std::size_t backend) {
  const BackendId id{static_cast<std::uint32_t>(backend)};
  relay_->set_down(backend);
  grantor_->remove(id);
  static_cast<void>(withdraw_backend(primary(), id, k_backend_gone, simulation_.now()));
}

// --- what happens to them -----------------------------------------------------------------------

void MultiEndNetwork::drain_backend(std::size_t backend) {
  static_cast<void>(withdraw_backend(primary(), BackendId{static_cast<std::uint32_t>(backend)},
                                     k_backend_drains, simulation_.now()));
  tell_backend(backend, [this, backend](BackendHost& server) {
    backends_[backend].drains = true;
    if (server.connection()) on_backend_activity(backend, simulation_.now());
  });
}

void MultiEndNetwork::crash_backend(std::size_t backend) {
  backends_[backend].crashed = true;
  backends_[backend].content.reset();
  backends_[backend].server->forget();
  set_down(*backends_[backend].upstream_link, simulation_.now());
}

void MultiEndNetwork::crash_primary() {
  primary_crashed_ = true;
  set_down(*primary_link_, simulation_.now());
  for (Backend& backend : backends_) set_down(*backend.upstream_link, simulation_.now());
}

void MultiEndNetwork::cut_backbone(std::size_t backend) {
  backends_[backend].backbone_cut = true;
  set_down(*backends_[backend].upstream_link, simulation_.now());
}

void MultiEndNetwork::cut_client_path(std::size_t backend) {
  set_down(*backends_[backend].link, simulation_.now());
}

void MultiEndNetwork::rebind_client() {
  ++client_address_;
  const Address translated = address(k_client_network, client_address_, k_client_port);
  simulation_.rebind(*primary_link_, translated);
  for (Backend& backend : backends_) simulation_.rebind(*backend.link, translated);
}

void MultiEndNetwork::migrate_client() {
  ++client_address_;
  const Address local = address(k_client_network, client_address_, k_client_port);
  const auto move = [&](NetworkPath& path) {
    simulation_.share(path, {path.near.host, local}, path.far);
  };
  move(*primary_link_);
  for (Backend& backend : backends_) move(*backend.link);
  for (const PathStats& path : client().paths().stats()) {
    static_cast<void>(client().paths().migrate(local, simulation_.now(), path.id));
  }
}

}  // namespace sheaf::quic
