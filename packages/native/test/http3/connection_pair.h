#pragma once

#include <array>

#include "emulation/units.h"
#include "http3/connection_transport.h"
#include "sim/known_secret.h"
#include "sim/simulation.h"

namespace sheaf::http3 {

// One side of a connection in a simulation: a Connection and the application on it. `Application`
// is made from a Transport and has `start(now)`, `on_event(event, now)` and `settle(now)`.
template <typename Application>
class ConnectionHost final : public quic::Host {
 public:
  ConnectionHost(Role role, const quic::ConnectionConfig& config, quic::Random& random, Time now)
      : connection(role, config, random, now), transport(connection), application(transport) {}

  void receive(const quic::Datagram& datagram, Time now) override {
    connection.receive(datagram, now);
    take_events(now);
  }
  void poll_transmit(quic::TransmitBatch& batch, Time now) override {
    application.settle(now);
    connection.poll_transmit(batch, now);
    take_events(now);
  }
  Time next_timeout() const override { return connection.next_timeout(); }
  void on_timeout(Time now) override {
    connection.on_timeout(now);
    take_events(now);
  }
  void take_events(Time now) {
    while (const auto event = connection.poll_event()) {
      if (const auto* closed = std::get_if<quic::ConnectionClosed>(&*event)) {
        close_error = closed->error;
        close_reason = closed->reason;
      }
      application.on_event(*event, now);
    }
    application.settle(now);
  }

  quic::Connection connection;
  ConnectionTransport transport;
  Application application;
  std::optional<std::uint64_t> close_error;
  std::string close_reason;
};

// Two such sides, which have their keys already, on one link.
template <typename Application>
class ConnectionPair {
 public:
  ConnectionPair(std::uint64_t seed, const quic::LinkConfig& link,
                 const quic::ConnectionConfig& config = {})
      : simulation(seed),
        random_(seed),
        client(Role::kClient, config, random_, simulation.now()),
        server(Role::kServer, config, random_, simulation.now()) {
    const quic::Address client_address = address(1);
    const quic::Address server_address = address(2);
    establish(client, server, {client_address, server_address}, 1);
    establish(server, client, {server_address, client_address}, 2);
    server.connection.establishment().confirm_handshake({}, simulation.now());
    simulation.add_host("client", client);
    simulation.add_host("server", server);
    simulation.connect({"client", client_address}, {"server", server_address}, link);
    client.application.start(simulation.now());
    server.application.start(simulation.now());
  }

 private:
  static quic::Address address(std::uint8_t last) {
    return {.ip = {10, 0, 0, last}, .port = 443, .family = quic::Address::Family::kIpv4};
  }
  static quic::ConnectionId id(std::uint8_t value) {
    std::array<std::uint8_t, 8> bytes;
    bytes.fill(value);
    return quic::ConnectionId(Bytes(bytes));
  }
  void establish(ConnectionHost<Application>& end, ConnectionHost<Application>& peer,
                 const quic::AddressPair& path, std::uint8_t name) {
    const std::uint8_t other = 3 - name;
    quic::ConnectionSeed seed;
    seed.send_secret = quic::known_secret(name);
    seed.receive_secret = quic::known_secret(other);
    seed.peer_parameters = peer.connection.local_parameters();
    seed.local_id = id(name);
    seed.remote_id = id(other);
    seed.path = path;
    seed.initial_rtt = std::chrono::milliseconds(25);  // a handshake would have measured it
    if (!end.connection.establishment().establish(seed, simulation.now())) std::abort();
  }

 public:
  quic::Simulation simulation;

 private:
  quic::SeededRandom random_;

 public:
  ConnectionHost<Application> client;
  ConnectionHost<Application> server;
};

}  // namespace sheaf::http3
