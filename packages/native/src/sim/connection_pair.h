#pragma once

#include <functional>
#include <string>
#include <vector>

#include "connection/connection.h"
#include "sim/simulation.h"

namespace sheaf::quic {

// One side of a connection as a host of a simulation. There is no handshake: keys and parameters
// come from seeds, so equal seeds give equal bytes.
class ConnectionHost final : public Host {
 public:
  ConnectionHost(Role role, const ConnectionConfig& config, Random& random, Time now)
      : connection(role, config, random, now) {}

  void receive(const Datagram& datagram, Time now) override;
  void poll_transmit(TransmitBatch& batch, Time now) override;
  Time next_timeout() const override { return connection.next_timeout(); }
  void on_timeout(Time now) override;

  Connection connection;
  // Gets all events in order. It may call any function of the connection.
  std::function<void(const Event&, Time)> on_event;
  // Called after each datagram and timeout, when the events have been delivered.
  std::function<void(Time)> on_activity;

 private:
  void deliver_events(Time now);
};

// Connects both sides over their first path, as each of them sees it, without a handshake.
void establish_both(Connection& client, const AddressPair& client_path, Connection& server,
                    const AddressPair& server_path, Time now);
inline AddressPair reversed(const AddressPair& path) { return {path.remote, path.local}; }

// A client and a server, connected over the first path
class ConnectionPair {
 public:
  struct Options {
    ConnectionConfig client;
    ConnectionConfig server;
    AddressPair path;  // as the client sees it; the caller adds its links
    // Names in the simulation
    std::string client_name = "client";
    std::string server_name = "server";
    // Send and receive in the simulation in place of the client and the server; null: these do it
    Host* client_host = nullptr;
    Host* server_host = nullptr;
  };
  ConnectionPair(Simulation& simulation, const Options& options);

  ConnectionHost& host(Role role) { return role == Role::kClient ? client : server; }
  Simulation& simulation;
  ConnectionHost client;
  ConnectionHost server;
};

}  // namespace sheaf::quic
