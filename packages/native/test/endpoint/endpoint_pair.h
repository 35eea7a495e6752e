#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "crypto/test_certificates.h"
#include "endpoint/endpoint.h"

namespace sheaf::quic {

// Describes what the network between the two endpoints does to datagrams; probabilities are in [0,
// 1).
struct Weather {
  double loss = 0;
  double duplication = 0;
  double reordering = 0;  // this datagram is held back for up to 3 delays
  Duration delay = std::chrono::milliseconds(10);
  double ecn_marking = 0;
};

// Runs a client and a server endpoint in virtual time. Prints its seed, which replays everything
// except the random numbers of TLS.
class EndpointPair {
 public:
  struct Options {
    std::uint64_t seed = 1;
    Weather weather;
    ConnectionConfig connection;
    AdmissionConfig admission;
    MemoryConfig memory;  // of the server
    bool early_data = true;
    ServerSecrets secrets;  // of the server
    std::optional<RoutableIds::Server> server;
    bool client_serves = false;  // the client's endpoint takes connections, too
  };

  EndpointPair() : EndpointPair(Options()) {}
  explicit EndpointPair(const Options& options);
  EndpointPair(std::uint64_t seed, const Weather& weather) : EndpointPair(with(seed, weather)) {}

  // Replaces the server by one that does not know its connections.
  void restart_server();
  // Does the same, and also replaces the keys of tickets, so that 0-RTT is rejected.
  void restart_server_without_ticket_keys();
  // Replaces the server's process by one with these secrets.
  void restart_server_with(ServerSecrets secrets);
  // Replaces it by one of another scope, with the same secrets.
  void move_server_to(std::string reset_scope);
  // Replaces it by another server of its fleet, at this place among others.
  void replace_server_by(RoutableIds::Server server, std::shared_ptr<Placement> placement = {});
  // From now on clients get a HelloRetryRequest, because their key shares are of other groups.
  void change_groups();
  ConnectionDriver& connect(std::vector<std::uint8_t> session = {});
  // Runs until `done` or for `limit` of virtual time. Returns true when done.
  bool run_until(const std::function<bool()>& done, Duration limit = std::chrono::seconds(60));
  void run_for(Duration duration) {
    run_until([] { return false; }, duration);
  }
  bool run_until_confirmed();

  // Returns everything that `driver` has reported.
  std::vector<Event>& events(ConnectionDriver& driver) { return events_[&driver]; }
  template <typename Kind>
  int count(ConnectionDriver& driver) {
    int found = 0;
    for (const Event& event : events_[&driver]) found += std::holds_alternative<Kind>(event);
    return found;
  }
  const ConnectionClosed* closed(const ConnectionDriver* driver) const;

  // Called for every datagram that is sent. May change it, or return false to drop it.
  std::function<bool(bool to_server, std::vector<std::uint8_t>& bytes, AddressPair& path)> filter;
  // The client's address as the server sees it. A change is a NAT rebinding.
  Address client_seen_as;

  Time now;
  SeededRandom random;
  std::unique_ptr<Endpoint> server;
  std::unique_ptr<Endpoint> client;
  std::vector<ConnectionDriver*> accepted;  // in order; pointers of gone ones are removed
  std::uint64_t datagrams_sent = 0;
  // Wakes both sides; needed after the test called a connection.
  void wake(ConnectionDriver& driver) {
    client->wake(driver, now);
    server->wake(driver, now);
  }

  static Options with(std::uint64_t seed, const Weather& weather) {
    Options options;
    options.seed = seed;
    options.weather = weather;
    return options;
  }

 private:
  struct InFlight {
    Time at;
    std::uint64_t order;
    bool to_server;
    std::vector<std::uint8_t> bytes;
    AddressPair path;  // as the receiver sees it
    Ecn ecn;
    bool operator>(const InFlight& other) const {
      return std::tie(at, order) > std::tie(other.at, other.order);
    }
  };

  void pump();
  void send_all(Endpoint& endpoint, bool to_server);
  void launch(bool to_server, std::vector<std::uint8_t> bytes, AddressPair path, Ecn ecn);
  void collect(Endpoint& endpoint);

  Options options_;
  Address client_address_;
  Address server_address_;
  std::shared_ptr<TlsContext> client_tls_;
  EndpointConfig server_config_;
  std::priority_queue<InFlight, std::vector<InFlight>, std::greater<>> network_;
  std::map<const ConnectionDriver*, std::vector<Event>> events_;
  std::vector<std::uint8_t> buffer_;
  std::uint64_t order_ = 0;
};

}  // namespace sheaf::quic
