#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/multi_end/content.h"
#include "sim/multi_end/content_relay.h"
#include "sim/multi_end/end_host.h"

namespace sheaf::quic {

// A client, the primary that it shook hands with, and ends (docs/multi-end.md): every one of them
// on a link of its own, with a backbone between the primary and the ends. All serve one content;
// what the client asks the primary for is proxied to an end. The primary hands over and offers
// every end, and the client opens what it is offered.
class MultiEndNetwork {
 public:
  // How long a primary hears nothing from an end over the backbone before it gives it up, and how
  // often they speak at least.
  static constexpr Duration k_backbone_silence = 3s;
  static constexpr Duration k_backbone_interval = 500ms;

  struct EndLinks {
    LinkConfig client;
    LinkConfig primary;  // messages take its delay; what is proxied crosses it
  };
  struct Options {
    LinkConfig primary;  // to the client
    std::vector<EndLinks> ends;
    // One link of the client that everything crosses.
    std::optional<LinkConfig> access{};
    ConnectionConfig client, server;
    // Offered from the beginning; the others when they join.
    std::size_t first_ends = SIZE_MAX;
    StreamLease lease = {.credit = 64 << 10, .ids = {{{0, 4}, {0, 4}}}};
  };

  // `number` tells the connections of one simulation apart.
  MultiEndNetwork(Simulation& simulation, const Options& options, std::size_t number = 0);

  Simulation& simulation() { return simulation_; }
  Connection& client() { return pair_->client.connection; }
  Connection& primary() { return pair_->server.connection; }
  EndHost& end(std::size_t index) { return *ends_[index].server; }
  std::size_t ends() const { return ends_.size(); }
  // The client's path to the end: validated, and open for new streams.
  std::optional<PathId> path_to(std::size_t end) const;
  std::size_t open_paths() const;
  // After the network has seen them.
  std::function<void(const Event&, Time)> on_client_event;

  // --- what happens to them ---------------------------------------------------------------------
  void join(std::size_t end);  // hand over and offer
  void drain_end(std::size_t end);
  void crash_end(std::size_t end);
  void crash_primary();
  void cut_backbone(std::size_t end);
  void cut_client_path(std::size_t end);
  // Behind a translator that forgot: nobody told the client.
  void rebind_client();
  // The client moves all its paths to another address.
  void migrate_client();

 private:
  struct End {
    std::unique_ptr<EndHost> server;
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
  void add_end(std::size_t index);
  void note_client_event(const Event& event, Time now);
  void note_primary_event(const Event& event, Time now);
  void on_end_activity(std::size_t end, Time now);
  void send_grants();
  void supervise();
  void give_up(std::size_t end);
  // Carries a message, unless somebody is not there any more.
  void tell_primary(std::size_t end, std::function<void()> message);
  void tell_end(std::size_t end, std::function<void(EndHost&)> message);
  Duration backbone(std::size_t end) const { return options_.ends[end].primary.delay; }

  Simulation& simulation_;
  Options options_;
  std::size_t number_;
  std::size_t client_address_ = 0;  // counts up when it moves
  std::optional<std::size_t> access_;
  std::unique_ptr<ConnectionPair> pair_;
  NetworkPath* primary_link_ = nullptr;
  std::vector<End> ends_;
  std::unique_ptr<LeaseGrantor> grantor_;
  std::unique_ptr<ContentRelay> relay_;
  std::uint64_t primary_heard_ = 0;
  bool primary_crashed_ = false;
};

}  // namespace sheaf::quic
