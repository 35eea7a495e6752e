#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>

#include "crypto/test_certificates.h"
#include "emulation/units.h"
#include "endpoint/endpoint.h"
#include "http3/connection_transport.h"
#include "http3/session.h"
#include "multi_end/backends.h"
#include "sim/simulation.h"

namespace sheaf::http3 {

using namespace std::chrono_literals;

// Runs an endpoint with HTTP/3 sessions as a host of a simulation. A server answers GET /N with N
// bytes, and any other method with the number of bytes that it received.
class BackendsNode final : public quic::Host {
 public:
  BackendsNode(const quic::EndpointConfig& config, quic::Random& random)
      : endpoint(config, random), random_(random) {}

  struct Message {
    std::uint64_t received = 0;
    std::uint64_t to_send = 0;
    bool finished = false;
    std::optional<std::uint64_t> reset;
    bool answering = false;
  };
  struct Served {
    explicit Served(quic::ConnectionDriver& of) : driver(of), transport(of.connection()) {}
    quic::ConnectionDriver& driver;
    ConnectionTransport transport;
    std::unique_ptr<Session> session;
    std::map<std::uint64_t, Message> messages;
    std::vector<quic::Event> events;

    template <typename Kind>
    const Kind* find() const {
      for (const quic::Event& event : events) {
        if (const Kind* found = std::get_if<Kind>(&event)) return found;
      }
      return nullptr;
    }
  };

  // --- Host
  void receive(const quic::Datagram& datagram, Time now) override {
    long_headers += (datagram.payload[0] & 0x80) != 0;
    if (crashed) return;
    endpoint.receive(datagram, now);
    settle(now);
  }
  void poll_transmit(quic::TransmitBatch& batch, Time now) override {
    batch.size = 0;
    if (!crashed) endpoint.poll_transmit(batch, now);
  }
  Time next_timeout() const override { return crashed ? quic::k_never : endpoint.next_timeout(); }
  void on_timeout(Time now) override {
    if (crashed) return;
    endpoint.on_timeout(now);
    settle(now);
  }

  Served& served(quic::ConnectionDriver& driver) {
    auto& slot = connections[&driver];
    if (!slot) slot = std::make_unique<Served>(driver);
    return *slot;
  }
  void settle(Time now) {
    while (quic::ConnectionDriver* driver = endpoint.next_active(now)) {
      Served& of = served(*driver);
      while (const auto event = driver->poll_event(now)) {
        start_session(of, now);
        if (of.session) of.session->on_event(*event, now);
        of.events.push_back(*event);
      }
      start_session(of, now);
      run_session(of, now);
      tell_others(*driver, now);
    }
    endpoint.reap([this](quic::ConnectionDriver& driver) { connections.erase(&driver); });
  }

  quic::Endpoint endpoint;
  std::map<quic::ConnectionDriver*, std::unique_ptr<Served>> connections;
  // Holds messages that the nodes around the engine carry.
  std::function<void(quic::BackendId, std::vector<std::uint8_t>)> to_backend;
  std::function<void(std::vector<std::uint8_t>)> to_primary;
  int long_headers = 0;
  bool crashed = false;
  bool reads = true;  // bodies, as they come

 private:
  void start_session(Served& of, Time now) {
    if (of.session || !of.driver.application_ready()) return;
    of.session = std::make_unique<Session>(
        of.transport, SessionConfig{.requests_only = of.driver.backend_exchange() != nullptr},
        random_);
    of.session->start(now);
  }
  void run_session(Served& of, Time now) {
    while (of.session) {
      const auto event = of.session->poll_event();
      if (!event) return;
      if (const auto* request = std::get_if<RequestReceived>(&*event)) {
        Message& message = of.messages[request->stream.value];
        if (request->fields.find(":method") == "GET") {
          const std::string path(request->fields.find(":path"));
          answer(of, request->stream, message, std::stoull(path.substr(1)));
        }
      } else if (const auto* body = std::get_if<BodyReadable>(&*event)) {
        if (reads) read(of, body->stream, now);
      } else if (const auto* end = std::get_if<MessageFinished>(&*event)) {
        Message& message = of.messages[end->stream.value];
        message.finished = true;
        const bool server = of.transport.role() == Role::kServer;
        if (server && !message.answering) answer(of, end->stream, message, message.received);
      } else if (const auto* writable = std::get_if<BodyWritable>(&*event)) {
        write(of, writable->stream);
      } else if (const auto* reset = std::get_if<StreamReset>(&*event)) {
        of.messages[reset->stream.value].reset = reset->error;
      }
    }
  }
  void answer(Served& of, StreamId stream, Message& message, std::uint64_t size) {
    message.answering = true;
    message.to_send = size;
    EXPECT_TRUE(of.session->submit_response(stream, {{":status", "200"}}, true));
    write(of, stream);
  }

 public:
  void read(Served& of, StreamId stream, Time now) {
    for (;;) {
      const std::size_t size = of.session->peek_body(stream).size();
      if (size == 0) return;
      of.messages[stream.value].received += size;
      of.session->consume_body(stream, size, now);
    }
  }
  // Sends as much of the body as there is room for.
  void write(Served& of, StreamId stream) {
    Message& message = of.messages[stream.value];
    bool room = true;
    bool end = false;
    while (room && !end) {
      const std::vector<std::uint8_t> bytes(std::min<std::uint64_t>(message.to_send, 16384), 0x5a);
      message.to_send -= bytes.size();
      end = message.to_send == 0;
      const auto taken = of.session->write_body(stream, SendChunk::copy_of(bytes), end);
      room = taken && *taken;
    }
  }

 private:
  void tell_others(quic::ConnectionDriver& driver, Time now) {
    if (quic::PrimaryExchange* exchange = driver.primary_exchange()) {
      while (const auto out = exchange->poll_message(now)) to_backend(out->backend, out->message);
    }
    if (quic::BackendExchange* exchange = driver.backend_exchange()) {
      while (const auto out = exchange->poll_message(now)) to_primary(*out);
    }
  }

  quic::Random& random_;
};

// A client, the primary that does its handshake, and one backend, each on its own link.
class BackendsSite {
 public:
  explicit BackendsSite(std::uint64_t seed, quic::KeyMode mode = quic::KeyMode::kPerPath)
      : trace_(__FILE__, __LINE__, "seed " + std::to_string(seed)),
        simulation(seed),
        client_config(config(mode, false)),
        client(client_config, simulation.random()),
        primary(config(mode, true), simulation.random()),
        backend(config(mode, true), simulation.random()) {
    simulation.add_host("client", client);
    simulation.add_host("primary", primary);
    simulation.add_host("backend", backend);
    quic::LinkConfig link;
    link.delay = 10ms;
    simulation.connect({"client", address(0)}, {"primary", address(1)}, link);
    to_backend = &simulation.connect({"client", address(0)}, {"backend", address(2)}, link);
    backend.to_primary = [this](std::vector<std::uint8_t> message) {
      simulation.after(2ms, [this, message] {
        if (primary.connections.empty()) return;
        quic::ConnectionDriver& driver = at_primary().driver;
        EXPECT_TRUE(driver.primary_exchange()->receive(k_backend, message, now()));
        wake(primary, driver);
      });
    };
    primary.to_backend = [this](quic::BackendId, std::vector<std::uint8_t> message) {
      simulation.after(2ms, [this, message] {
        if (backend.crashed || backend.connections.empty()) return;
        quic::ConnectionDriver& driver = at_backend().driver;
        EXPECT_TRUE(driver.backend_exchange()->receive(message, now()));
        wake(backend, driver);
      });
    };
  }

  static constexpr quic::BackendId k_backend{7};

  Time now() const { return simulation.now(); }
  bool run_until(const std::function<bool()>& reached, quic::Duration limit = 60s) {
    return simulation.run_until(reached, limit) == quic::Simulation::Outcome::kReached;
  }
  // Runs the work of an application, and wakes the endpoint afterwards.
  void wake(BackendsNode& node, quic::ConnectionDriver& driver) {
    node.endpoint.wake(driver, now());
    node.settle(now());
  }
  // Runs until all connection ids have arrived, so that the client knows the primary and can open
  // paths.
  [[nodiscard]] bool connect() {
    auto tls =
        quic::make_tls_client_context({.alpn = {"h3"},
                                       .certificate_authority_pem = certificate().authority_pem,
                                       .certificate_hashes = {},
                                       .insecure = false});
    quic::ClientHandshakeConfig handshake;
    handshake.tls = *tls;
    handshake.server_name = "localhost";
    handshake.path = {address(0), address(1)};
    auto driver = client.endpoint.connect(std::move(handshake), client_config.connection, now());
    if (!driver) return false;
    const bool ready = run_until([&] {
      return !primary.connections.empty() && at_primary().driver.primary_exchange() &&
             at_client().find<quic::HandshakeConfirmedEvent>();
    });
    simulation.run_for(300ms);
    return ready;
  }
  // Hands a path over and lets the client open it.
  [[nodiscard]] bool join() {
    snapshot = hand_over();
    if (snapshot.empty() || !backend.endpoint.import(snapshot, now())) return false;
    backend.settle(now());
    if (!quic::offer_backend(at_primary().driver.connection(), k_backend)) return false;
    wake(primary, at_primary().driver);
    if (!run_until([&] { return at_client().find<quic::BackendOfferedEvent>() != nullptr; })) {
      return false;
    }
    const auto opened =
        quic::open_backend(at_client().driver.connection(), k_backend, address(0), now());
    if (!opened) return false;
    path = *opened;
    wake(client, at_client().driver);
    return run_until([&] {
      const auto* validated = at_client().find<quic::PathValidatedEvent>();
      return validated && validated->path == path;
    });
  }
  std::vector<std::uint8_t> hand_over() {
    auto bytes = at_primary().driver.primary_exchange()->hand_over(k_backend, address(2));
    return bytes ? *bytes : std::vector<std::uint8_t>();
  }
  // Requests `bytes` from the backend, or from the primary with `at_the_primary`. With `upload`,
  // sends so many bytes in a POST.
  StreamId ask(std::uint64_t bytes, bool at_the_primary = false, std::uint64_t upload = 0) {
    BackendsNode::Served& of = at_client();
    const FieldSection fields{{":method", upload > 0 ? "POST" : "GET"},
                              {":scheme", "https"},
                              {":authority", "localhost"},
                              {":path", "/" + std::to_string(bytes)},
                              {"x-repeated", "the same in every request, as cookies are"}};
    const auto stream = of.session->submit_request(fields, upload > 0);
    EXPECT_TRUE(stream);
    if (!at_the_primary) {
      EXPECT_TRUE(of.driver.connection().paths().pin(*stream, path));
    }
    if (upload > 0) {
      of.messages[stream->value].to_send = upload;
      client.write(of, *stream);
    }
    wake(client, of.driver);
    return *stream;
  }
  BackendsNode::Message& message(StreamId stream) { return at_client().messages[stream.value]; }
  bool run_until_finished(StreamId stream) {
    return run_until([this, stream] { return message(stream).finished; });
  }
  BackendsNode::Served& at_client() { return *client.connections.begin()->second; }
  BackendsNode::Served& at_primary() { return *primary.connections.begin()->second; }
  BackendsNode::Served& at_backend() { return *backend.connections.begin()->second; }

 private:
  ::testing::ScopedTrace trace_;
  static quic::Address address(std::uint8_t last) {
    return {.ip = {10, 0, 0, last}, .port = 443, .family = quic::Address::Family::kIpv4};
  }
  static quic::EndpointConfig config(quic::KeyMode mode, bool server) {
    quic::EndpointConfig config;
    quic::offer_multi_end(config.connection, static_cast<std::uint64_t>(mode));
    if (!server) return config;
    auto tls = quic::make_tls_server_context({.certificate_pem = certificate().certificate_pem,
                                              .private_key_pem = certificate().private_key_pem,
                                              .alpn = {"h3"},
                                              .secrets = {},
                                              .early_data = false});
    if (tls) config.server_tls = *tls;
    return config;
  }
  static const quic::TestCertificate& certificate() {
    static const quic::TestCertificate made = quic::make_certificate();
    return made;
  }

 public:
  quic::Simulation simulation;
  quic::EndpointConfig client_config;
  BackendsNode client;
  BackendsNode primary;
  BackendsNode backend;
  quic::NetworkPath* to_backend = nullptr;
  std::vector<std::uint8_t> snapshot;  // of the latest `join`
  quic::PathId path;                   // of it
};

}  // namespace sheaf::http3
