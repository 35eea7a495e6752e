#pragma once

#include <map>
#include <memory>
#include <queue>
#include <vector>

#include "crypto/test_certificates.h"
#include "endpoint/endpoint.h"
#include "endpoint/transfer.h"
#include "workers/worker_placement.h"

namespace sheaf::workers {

// The workers of one server and many clients in virtual time. The network gives datagrams to
// workers as the kernel does: by connection ids, or by addresses. Everything but TLS follows from
// the seed.
class WorkerWorld {
 public:
  struct Options {
    std::uint64_t seed = 1;
    unsigned workers = 4;
    bool steered = true;
    quic::RetryPolicy retry = quic::RetryPolicy::kNever;
    std::size_t max_connections = 10'000;
    std::size_t max_connections_per_network = 10'000;
    // Shares of datagrams that are lost, and that the network gives to any worker, as it does with
    // a batch of several connections
    double loss = 0;
    double astray = 0;
  };

  struct Client {
    quic::Address address;  // as the client knows it
    quic::Address seen_as;  // as the server sees it; a change is a NAT rebinding
    std::unique_ptr<quic::Endpoint> endpoint;
    quic::ConnectionDriver* driver = nullptr;
    std::optional<quic::ConnectionClosed> closed;
    bool established = false;
    std::vector<std::uint8_t> session;
    quic::Receiver echoes;  // of what it sent
  };

  explicit WorkerWorld(const Options& options);

  // Opens a connection from an address of its own.
  Client& connect(std::vector<std::uint8_t> session = {});
  // Sends bytes, which the server sends back, on a new stream.
  void send(Client& client, std::size_t bytes);
  // Gives the client another address.
  void rebind(Client& client);
  // Ends a worker with all its connections, and starts its successor.
  void crash(unsigned worker);
  // Returns the worker that has the client's connection; nothing when none has.
  std::optional<unsigned> worker_of(const Client& client) const;

  bool run_until(const std::function<bool()>& done,
                 quic::Duration limit = std::chrono::seconds(30));
  void run_for(quic::Duration duration) {
    run_until([] { return false; }, duration);
  }
  // Runs until all clients have established their connections.
  bool run_until_established();

  WorkerGroup& group() { return *group_; }
  const std::vector<std::unique_ptr<quic::Endpoint>>& workers() const { return workers_; }
  std::vector<std::unique_ptr<Client>> clients;
  quic::Time now{std::chrono::seconds(1000)};
  quic::SeededRandom random;

 private:
  struct InFlight {
    quic::Time at;
    std::uint64_t order;
    bool to_server;
    std::vector<std::uint8_t> bytes;
    quic::AddressPair path;  // as the receiver sees it
    quic::Ecn ecn;
    bool operator>(const InFlight& other) const {
      return std::tie(at, order) > std::tie(other.at, other.order);
    }
  };

  void start(unsigned worker);
  unsigned chosen_by_kernel(const InFlight& datagram);
  Client* client_seen_as(const quic::Address& address);
  void deliver(InFlight& datagram);
  void read_mail();
  void send_all(quic::Endpoint& endpoint, Client* client);
  void echo(quic::ConnectionDriver& driver, quic::StreamId stream);
  void collect_server(quic::Endpoint& endpoint);
  void collect_client(Client& client);
  void pump();

  Options options_;
  quic::Address server_address_;
  std::uint16_t next_port_ = 10000;
  std::shared_ptr<quic::TlsContext> client_tls_;
  quic::EndpointConfig server_config_;
  std::shared_ptr<WorkerGroup> group_;
  std::vector<std::unique_ptr<quic::Endpoint>> workers_;
  std::priority_queue<InFlight, std::vector<InFlight>, std::greater<>> network_;
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(65536);
  std::uint64_t order_ = 0;
};

}  // namespace sheaf::workers
