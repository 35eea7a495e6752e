#pragma once

#include <deque>
#include <memory>
#include <unordered_set>
#include <utility>

#include "../../fuzz/certificate.h"
#include "crypto/tls_context.h"
#include "endpoint/endpoint.h"
#include "sample.h"
#include "settings.h"

namespace sheaf::quic::engine_bench {

// One side of a connection that an endpoint dispatches. Its turns are those of io/endpoint_loop.h:
// what was received, timers, events, batches until nothing is left to send, events, freeing, the
// next deadline.
class EndpointHost {
 public:
  // A turn ends with the call that finds nothing to send, which sets the connection's timer.
  static constexpr std::size_t k_batches = 4;
  // A batch of full packets but for the last: the turn that sends it has nothing left.
  static constexpr std::uint64_t k_write_ahead = 42'000;

  EndpointHost(Endpoint& endpoint, ConnectionDriver& driver)
      : endpoint_(&endpoint), driver_(&driver) {}

  Connection& connection() { return driver_->connection(); }
  void wake(Time now) { endpoint_->wake(*driver_, now); }
  void receive(const Datagram& datagram, Time now) { endpoint_->receive(datagram, now); }
  void begin_turn(Time now) {
    endpoint_->end_batch(now);
    if (next_timeout_ <= now) endpoint_->on_timeout(now);
    drain_events(now);
  }
  void poll_transmit(TransmitBatch& batch, Time now) { endpoint_->poll_transmit(batch, now); }
  void end_turn(Time now) {
    drain_events(now);
    endpoint_->reap([](ConnectionDriver&) { fail("a connection ended"); });
    next_timeout_ = endpoint_->next_timeout();
  }
  void drain_events(Time now) {
    while (ConnectionDriver* active = endpoint_->next_active(now)) {
      while (active->poll_event(now)) {
      }
    }
  }

 private:
  Endpoint* endpoint_;
  ConnectionDriver* driver_;
  Time next_timeout_ = k_never;
};

// A server that all receivers share, and a client's endpoint for each of them.
class EndpointNetwork {
 public:
  EndpointNetwork(CryptoProvider provider, Random& random) : random_(random) {
    config_.connection = connection_config(provider);
    auto tls = make_tls_client_context({.alpn = {"h3"},
                                        .certificate_authority_pem = {},
                                        .certificate_hashes = {},
                                        .public_key_hashes = {},
                                        .insecure = true});
    if (!tls) fail("no TLS of a client");
    client_tls_ = *tls;
    // Offers the suite of connections without an endpoint alone, so no other can be measured.
    if (client_tls_->set_priority("NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM"))
      fail("no cipher suite");
    EndpointConfig serving = config_;
    serving.server_tls = make_fuzz_server_context();
    // All clients have the same address.
    serving.admission.max_connections = serving.admission.max_connections_per_network = SIZE_MAX;
    serving.admission.retry = RetryPolicy::kNever;
    server_ = std::make_unique<Endpoint>(serving, random);
  }

  Endpoint& server() { return *server_; }

  // Returns client and server of a new connection once the handshake is confirmed.
  std::pair<EndpointHost, EndpointHost> connect() {
    const auto port = static_cast<std::uint16_t>(10'000 + clients_.size());
    Endpoint& client = clients_.emplace_back(config_, random_);
    ClientHandshakeConfig handshake;
    handshake.tls = client_tls_;
    handshake.server_name = "localhost";
    handshake.path = {loopback(port), loopback(2222)};
    const auto calling = client.connect(std::move(handshake), config_.connection, current_time());
    if (!calling) fail("no handshake");
    for (bool quiet = false; !quiet;)
      quiet = !deliver(client, *server_) && !deliver(*server_, client);
    ConnectionDriver* accepted = nullptr;
    server_->for_each([&](ConnectionDriver& driver) {
      if (known_.insert(&driver).second) accepted = &driver;
    });
    if (accepted == nullptr || !accepted->handshake_completed() ||
        !(*calling)->handshake_completed())
      fail("the handshake is not complete");
    return {EndpointHost(client, **calling), EndpointHost(*server_, *accepted)};
  }

 private:
  // Passes on everything that `from` has to send. Returns whether there was something.
  bool deliver(Endpoint& from, Endpoint& to) {
    for (bool sent = false;; sent = true) {
      TransmitBatch batch{.buffer = buffer_, .max_segments = k_batch_packets, .path = {}};
      const Time now = current_time();
      from.poll_transmit(batch, now);
      if (batch.size == 0) return sent;
      for (std::size_t offset = 0; offset < batch.size; offset += batch.segment_size) {
        const std::size_t size = std::min(batch.segment_size, batch.size - offset);
        to.receive({.payload = batch.buffer.subspan(offset, size),
                    .path = {batch.path.remote, batch.path.local}},
                   now);
      }
    }
  }

  Random& random_;
  EndpointConfig config_;
  std::shared_ptr<TlsContext> client_tls_;
  std::unique_ptr<Endpoint> server_;
  std::deque<Endpoint> clients_;
  std::unordered_set<const ConnectionDriver*> known_;
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(64 * 1024);
};

}  // namespace sheaf::quic::engine_bench
