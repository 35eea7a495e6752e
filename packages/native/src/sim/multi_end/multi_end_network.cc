#include "sim/multi_end/multi_end_network.h"

#include <algorithm>
#include <cassert>

#include "ends/connection_snapshot.h"
#include "sim/addresses.h"

namespace sheaf::quic {

namespace {

constexpr std::uint8_t k_client_network = 1, k_primary_network = 2, k_end_network = 3,
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
  for (const PathStats& path : connection.path_stats()) sum += path.packets_received;
  return sum;
}

}  // namespace

MultiEndNetwork::MultiEndNetwork(Simulation& simulation, const Options& options, std::size_t number)
    : simulation_(simulation), options_(options), number_(number), ends_(options.ends.size()) {
  if (options_.access) access_ = simulation_.add_trunk(*options_.access);
  add_primary();
  for (std::size_t i = 0; i < ends_.size(); ++i) add_end(i);
  std::vector<ConnectionHost*> upstream;
  for (End& end : ends_) upstream.push_back(&end.upstream->client);
  relay_ = std::make_unique<ContentRelay>(simulation_, pair_->server, std::move(upstream));
  for (std::size_t i = 0; i < std::min(ends_.size(), options_.first_ends); ++i) join(i);
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
  grantor_ = std::make_unique<LeaseGrantor>(primary().shared_limits());
  pair_->client.on_event = [this](const Event& event, Time now) {
    note_client_event(event, now);
    if (on_client_event) on_client_event(event, now);
  };
  pair_->server.on_event = [this](const Event& event, Time now) { note_primary_event(event, now); };
  pair_->server.on_activity = [this](Time) { send_grants(); };
}

void MultiEndNetwork::add_end(std::size_t index) {
  End& end = ends_[index];
  const std::string host = name("end " + std::to_string(index));
  end.heard = simulation_.now();
  end.server = std::make_unique<EndHost>(simulation_.random());
  end.server->on_event = [this, index](const Event& event, Time now) {
    const auto* stream = std::get_if<StreamEvent>(&event);
    if (stream && ends_[index].content) ends_[index].content->on_event(*stream, now);
  };
  end.server->on_activity = [this, index](Time now) { on_end_activity(index, now); };
  simulation_.add_host(host, *end.server);
  end.link = &simulation_.connect(
      {name("client"), address(k_client_network, client_address_, k_client_port)},
      {host, address(k_end_network, index, k_server_port)}, options_.ends[index].client);
  if (access_) simulation_.lead_through(*end.link, *access_);

  const AddressPair backbone{address(k_backbone_network, index, k_client_port),
                             address(k_backbone_network, index, k_server_port)};
  end.upstream = std::make_unique<ConnectionPair>(
      simulation_, ConnectionPair::Options{.client = options_.server,
                                           .server = options_.server,
                                           .path = backbone,
                                           .client_name = host + " from primary",
                                           .server_name = host + " to primary"});
  end.upstream_link =
      &simulation_.connect({host + " from primary", backbone.local},
                           {host + " to primary", backbone.remote}, options_.ends[index].primary);
  end.upstream_content = std::make_unique<ContentServer>(end.upstream->server.connection);
  end.upstream->server.on_event = [this, index](const Event& event, Time now) {
    const auto* stream = std::get_if<StreamEvent>(&event);
    if (stream) ends_[index].upstream_content->on_event(*stream, now);
  };
}

std::optional<PathId> MultiEndNetwork::path_to(std::size_t end) const { return ends_[end].open; }

std::size_t MultiEndNetwork::open_paths() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(ends_, [](const End& end) { return end.open.has_value(); }));
}

// --- hand-over ----------------------------------------------------------------------------------

void MultiEndNetwork::join(std::size_t index) {
  if (primary_crashed_ || !primary().multi_end()) return;
  const EndId id{static_cast<std::uint32_t>(index)};
  auto seed = primary().hand_over(id, ends_[index].link->far.address, options_.lease);
  if (!seed) {
    // The handshake is not confirmed, or connection ids for the path are on their way.
    if (seed.error() == EndRefusal::kNotReady || seed.error() == EndRefusal::kNoPath) {
      simulation_.after(10ms, [this, index] { join(index); });
    }
    return;
  }
  grantor_->add(id, seed->keys.path, seed->lease);
  tell_end(index, [this, index, id, snapshot = encode_snapshot(*seed)](EndHost& server) {
    const bool imported =
        static_cast<bool>(server.import(snapshot, options_.server, simulation_.now()));
    assert(imported);
    if (!imported) return;
    ends_[index].content = std::make_unique<ContentServer>(*server.connection());
    tell_primary(index, [this, id] { static_cast<void>(primary().offer_end(id)); });
  });
}

void MultiEndNetwork::note_client_event(const Event& event, Time now) {
  if (const auto* offer = std::get_if<EndOfferedEvent>(&event)) {
    End& end = ends_[offer->end.value];
    const auto path = client().open_end(
        offer->end, address(k_client_network, client_address_, k_client_port), now);
    if (path) end.offered = *path;
  } else if (const auto* validated = std::get_if<PathValidatedEvent>(&event)) {
    for (End& end : ends_) {
      if (end.offered == validated->path) end.open = validated->path;
    }
  } else if (const auto* withdrawn = std::get_if<EndWithdrawnEvent>(&event)) {
    ends_[withdrawn->end.value].open = ends_[withdrawn->end.value].offered = std::nullopt;
  } else if (const auto* abandoned = std::get_if<PathAbandonedEvent>(&event)) {
    for (End& end : ends_) {
      if (end.offered == abandoned->path) end.open = end.offered = std::nullopt;
    }
  }
}

void MultiEndNetwork::note_primary_event(const Event& event, Time now) {
  if (const auto* stream = std::get_if<StreamEvent>(&event)) relay_->on_client_event(*stream, now);
  if (const auto* left = std::get_if<EndLeftEvent>(&event)) {
    const std::size_t index = left->end.value;
    grantor_->settle(left->path, left->use, now);
    tell_end(index, [this, index](EndHost& server) {
      ends_[index].content.reset();
      server.forget();
    });
  }
}

// --- backbone -----------------------------------------------------------------------------------

void MultiEndNetwork::tell_primary(std::size_t end, std::function<void()> message) {
  if (ends_[end].backbone_cut) return;
  simulation_.after(backbone(end), [this, end, message = std::move(message)] {
    if (!primary_crashed_ && !ends_[end].backbone_cut) message();
  });
}

void MultiEndNetwork::tell_end(std::size_t end, std::function<void(EndHost&)> message) {
  if (ends_[end].backbone_cut || primary_crashed_) return;
  simulation_.after(backbone(end), [this, end, message = std::move(message)] {
    if (!ends_[end].crashed && !ends_[end].backbone_cut) message(*ends_[end].server);
  });
}

void MultiEndNetwork::on_end_activity(std::size_t index, Time now) {
  End& end = ends_[index];
  LeaseHolder& leases = *end.server->leases();
  const EndId id{static_cast<std::uint32_t>(index)};
  if (const auto request = leases.poll_request(now)) {
    tell_primary(index, [this, index, id, request] {
      const auto grant = grantor_->on_request(id, *request);
      if (grant) {
        tell_end(index, [grant](EndHost& server) {
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
  if (end.drains && !end.given_up && end.content->open() == 0) {
    end.given_up = true;
    tell_primary(index,
                 [this, id, given_up = leases.give_up()] { grantor_->on_return(id, given_up); });
  }
}

void MultiEndNetwork::send_grants() {
  if (!grantor_) return;
  for (const auto& [id, grant] : grantor_->poll_grants()) {
    tell_end(id.value, [grant = grant](EndHost& server) {
      if (server.leases()) server.leases()->on_grant(grant);
    });
  }
}

// Both tell each other regularly that they live, and whether they hear the client.
void MultiEndNetwork::supervise() {
  const Time now = simulation_.now();
  const std::uint64_t heard_here = packets_received(primary());
  for (std::size_t i = 0; i < ends_.size() && !primary_crashed_; ++i) {
    End& end = ends_[i];
    if (!end.crashed) {
      const bool hears = end.server->datagrams() > end.heard_datagrams;
      end.heard_datagrams = end.server->datagrams();
      tell_primary(i, [this, i, hears] {
        ends_[i].heard = simulation_.now();
        if (hears) primary().heard_elsewhere(simulation_.now());
      });
    }
    if (heard_here > primary_heard_) {
      tell_end(i, [this](EndHost& server) {
        if (server.connection()) server.connection()->heard_elsewhere(simulation_.now());
      });
    }
    if (now - end.heard > k_backbone_silence) give_up(i);
  }
  primary_heard_ = heard_here;
  simulation_.after(k_backbone_interval, [this] { supervise(); });
}

void MultiEndNetwork::give_up(std::size_t end) {
  const EndId id{static_cast<std::uint32_t>(end)};
  relay_->set_down(end);
  grantor_->remove(id);
  static_cast<void>(primary().withdraw_end(id, k_end_gone));
}

// --- what happens to them -----------------------------------------------------------------------

void MultiEndNetwork::drain_end(std::size_t end) {
  static_cast<void>(primary().withdraw_end(EndId{static_cast<std::uint32_t>(end)}, k_end_drains));
  tell_end(end, [this, end](EndHost& server) {
    ends_[end].drains = true;
    if (server.connection()) on_end_activity(end, simulation_.now());
  });
}

void MultiEndNetwork::crash_end(std::size_t end) {
  ends_[end].crashed = true;
  ends_[end].content.reset();
  ends_[end].server->forget();
  set_down(*ends_[end].upstream_link, simulation_.now());
}

void MultiEndNetwork::crash_primary() {
  primary_crashed_ = true;
  set_down(*primary_link_, simulation_.now());
  for (End& end : ends_) set_down(*end.upstream_link, simulation_.now());
}

void MultiEndNetwork::cut_backbone(std::size_t end) {
  ends_[end].backbone_cut = true;
  set_down(*ends_[end].upstream_link, simulation_.now());
}

void MultiEndNetwork::cut_client_path(std::size_t end) {
  set_down(*ends_[end].link, simulation_.now());
}

void MultiEndNetwork::rebind_client() {
  ++client_address_;
  const Address translated = address(k_client_network, client_address_, k_client_port);
  simulation_.rebind(*primary_link_, translated);
  for (End& end : ends_) simulation_.rebind(*end.link, translated);
}

void MultiEndNetwork::migrate_client() {
  ++client_address_;
  const Address local = address(k_client_network, client_address_, k_client_port);
  const auto move = [&](NetworkPath& path) {
    simulation_.share(path, {path.near.host, local}, path.far);
  };
  move(*primary_link_);
  for (End& end : ends_) move(*end.link);
  for (const PathStats& path : client().path_stats()) {
    static_cast<void>(client().migrate(local, simulation_.now(), path.id));
  }
}

}  // namespace sheaf::quic
