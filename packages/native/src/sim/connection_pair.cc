#include "sim/connection_pair.h"

#include <cassert>

#include "sim/known_secret.h"

namespace sheaf::quic {

namespace {

ConnectionId connection_id(std::uint8_t value) {
  return ConnectionId(std::vector<std::uint8_t>(8, value));
}

}  // namespace

void ConnectionHost::receive(const Datagram& datagram, Time now) {
  connection.receive(datagram, now);
  deliver_events(now);
}

void ConnectionHost::poll_transmit(TransmitBatch& batch, Time now) {
  connection.poll_transmit(batch, now);
}

void ConnectionHost::on_timeout(Time now) {
  connection.on_timeout(now);
  deliver_events(now);
}

void ConnectionHost::deliver_events(Time now) {
  while (const auto event = connection.poll_event()) {
    if (on_event) on_event(*event, now);
  }
  // No host here routes by connection id.
  while (connection.routing().poll_id_change()) {
  }
  if (on_activity) on_activity(now);
}

void establish_both(Connection& client, const AddressPair& client_path, Connection& server,
                    const AddressPair& server_path, Time now) {
  const auto ids = std::make_shared<LocalIdMaker>(std::vector<std::uint8_t>(32, 0x5a));
  client.routing().set_id_maker(ids);
  server.routing().set_id_maker(ids);

  ConnectionSeed seed;
  seed.send_secret = known_secret(1);
  seed.receive_secret = known_secret(2);
  seed.local_id = connection_id(0xc0);
  seed.remote_id = connection_id(0x50);
  seed.peer_parameters = server.local_parameters();
  seed.path = client_path;
  bool established = static_cast<bool>(client.establishment().establish(seed, now));
  std::swap(seed.send_secret, seed.receive_secret);
  std::swap(seed.local_id, seed.remote_id);
  seed.path = server_path;
  seed.peer_parameters = client.local_parameters();
  established = server.establishment().establish(seed, now) && established;
  assert(established);
  static_cast<void>(established);
  server.establishment().confirm_handshake({}, now);
}

ConnectionPair::ConnectionPair(Simulation& world, const Options& options)
    : simulation(world),
      client(Role::kClient, options.client, world.random(), world.now()),
      server(Role::kServer, options.server, world.random(), world.now()) {
  world.add_host(options.client_name, options.client_host ? *options.client_host : client);
  world.add_host(options.server_name, options.server_host ? *options.server_host : server);
  establish_both(client.connection, options.path, server.connection, reversed(options.path),
                 world.now());
}

}  // namespace sheaf::quic
