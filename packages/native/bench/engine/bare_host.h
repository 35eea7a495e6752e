#pragma once

#include <array>
#include <memory>
#include <utility>

#include "connection/connection.h"
#include "sample.h"
#include "settings.h"

namespace sheaf::quic::engine_bench {

// One side of a connection that the program calls directly.
class BareHost {
 public:
  // Batches of a turn
  static constexpr std::size_t k_batches = 1;
  // Bytes of the stream that may wait to be sent
  static constexpr std::uint64_t k_write_ahead = 64 * 1024;

  BareHost(Role role, const ConnectionConfig& config, Random& random)
      : connection_(std::make_unique<Connection>(role, config, random, current_time())) {}

  Connection& connection() { return *connection_; }
  void wake(Time) {}
  void receive(const Datagram& datagram, Time now) { connection_->receive(datagram, now); }
  void begin_turn(Time now) { connection_->end_batch(now); }
  void poll_transmit(TransmitBatch& batch, Time now) { connection_->poll_transmit(batch, now); }
  void end_turn(Time) {}
  void drain_events(Time) {
    while (connection_->poll_event()) {
    }
  }

 private:
  std::unique_ptr<Connection> connection_;
};

// Returns a client and a server that have their keys already.
inline std::pair<BareHost, BareHost> connect_bare(CryptoProvider provider, Random& random) {
  const auto secret = [&random] {
    TrafficSecret made;
    made.length = 32;
    random.fill(MutableBytes(made.bytes).first(made.length));
    return made;
  };
  const auto connection_id = [](std::uint8_t value) {
    std::array<std::uint8_t, 8> bytes;
    bytes.fill(value);
    return ConnectionId(Bytes(bytes));
  };
  const ConnectionConfig config = connection_config(provider);
  std::pair hosts{BareHost(Role::kClient, config, random), BareHost(Role::kServer, config, random)};
  Connection& client = hosts.first.connection();
  Connection& server = hosts.second.connection();
  ConnectionSeed seed;
  seed.path = {loopback(1111), loopback(2222)};
  seed.send_secret = secret();
  seed.receive_secret = secret();
  seed.peer_parameters = server.local_parameters();
  seed.local_id = connection_id(1);
  seed.remote_id = connection_id(2);
  if (!client.establishment().establish(seed, current_time())) fail("no established client");
  seed.path = {loopback(2222), loopback(1111)};
  std::swap(seed.send_secret, seed.receive_secret);
  std::swap(seed.local_id, seed.remote_id);
  seed.peer_parameters = client.local_parameters();
  if (!server.establishment().establish(seed, current_time())) fail("no established server");
  server.establishment().confirm_handshake({}, current_time());
  return hosts;
}

}  // namespace sheaf::quic::engine_bench
