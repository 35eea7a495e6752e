#pragma once

#include <gtest/gtest.h>
#include <uv.h>

#include <functional>
#include <memory>
#include <unordered_map>

#include "crypto/test_certificates.h"
#include "crypto/tls_context.h"
#include "http3/connection_transport.h"
#include "http3/session.h"
#include "io/endpoint_loop.h"
#include "io/monotonic_clock.h"
#include "io/socket_address.h"
#include "util/random.h"

namespace sheaf::switchboard {

// Connections over HTTP/3 on one real socket of this machine.
class Node final : public io::EndpointLoop::Listener {
 public:
  struct Peer {
    explicit Peer(quic::ConnectionDriver& connection, quic::Random& random)
        : driver(connection),
          transport(connection.connection()),
          session(transport, {.datagrams = true}, random) {}

    quic::ConnectionDriver& driver;
    http3::ConnectionTransport transport;
    http3::Session session;
    bool started = false;
  };

  Node(uv_loop_t* loop, const quic::EndpointConfig& config, std::uint64_t seed,
       bool shares_port = false, const char* ip = "127.0.0.1")
      : random_(seed), endpoint_(config, random_), loop_(loop, endpoint_, *this) {
    EXPECT_TRUE(loop_.bind(*io::parse_address(ip, 0), {.reuse_port = shares_port}));
  }

  Peer& call(const quic::Address& remote, const quic::ConnectionConfig& config) {
    quic::ClientHandshakeConfig handshake;
    handshake.tls = *quic::make_tls_client_context({.alpn = {"h3"},
                                                    .certificate_authority_pem = {},
                                                    .certificate_hashes = {},
                                                    .insecure = true});
    handshake.server_name = "localhost";
    handshake.path = {loop_.local_address(), remote};
    auto driver = endpoint_.connect(std::move(handshake), config, io::monotonic_now());
    EXPECT_TRUE(driver);
    loop_.wake(**driver);
    return peer(**driver);
  }

  void on_active(quic::ConnectionDriver& driver, quic::Time now) override {
    Peer& of = peer(driver);
    if (!of.started && driver.application_ready()) {
      of.started = true;
      of.session.start(now);
    }
    while (auto event = driver.poll_event(now)) of.session.on_event(*event, now);
    while (auto event = of.session.poll_event()) {
      if (on_event) on_event(of, *event);
    }
    if (on_turn) on_turn(of, now);
  }
  void on_turn_end() override {}
  void on_removed(quic::ConnectionDriver& driver) override { peers_.erase(&driver); }
  void on_flushed(quic::Time now) override {
    if (flushed) flushed(now);
  }

  Peer& peer(quic::ConnectionDriver& driver) {
    auto& found = peers_[&driver];
    if (!found) found = std::make_unique<Peer>(driver, random_);
    return *found;
  }
  io::EndpointLoop& loop() { return loop_; }
  quic::Endpoint& endpoint() { return endpoint_; }

  std::function<void(Peer&, http3::SessionEvent&)> on_event;
  std::function<void(Peer&, quic::Time)> on_turn;  // after the events of a connection
  std::function<void(quic::Time)> flushed;

 private:
  quic::SeededRandom random_;
  quic::Endpoint endpoint_;
  std::unordered_map<quic::ConnectionDriver*, std::unique_ptr<Peer>> peers_;
  io::EndpointLoop loop_;
};

inline std::shared_ptr<quic::TlsContext> server_tls() {
  static const quic::TestCertificate certificate = quic::make_certificate();
  return *quic::make_tls_server_context({.certificate_pem = certificate.certificate_pem,
                                         .private_key_pem = certificate.private_key_pem,
                                         .alpn = {"h3"},
                                         .secrets = {},
                                         .early_data = false});
}

// Two nodes on one loop, as two endpoints of one process, and a long request from one to the other.
class BackbonePair : public testing::Test {
 protected:
  void SetUp() override {
    uv_loop_init(&uv);
    quic::EndpointConfig config;
    caller = std::make_unique<Node>(&uv, config, 1);
    config.server_tls = server_tls();
    called = std::make_unique<Node>(&uv, config, 2);
    called->on_event = [this](Node::Peer& peer, http3::SessionEvent& event) {
      const auto* request = std::get_if<http3::RequestReceived>(&event);
      if (!request) return;
      answering = &peer;
      request_id = request->stream;
      EXPECT_TRUE(peer.session.submit_response(request->stream, {{":status", "200"}}, true));
    };
    asking = &caller->call(called->loop().local_address(), {});
    bool asked = false;
    bool answered = false;
    caller->on_event = [&](Node::Peer& peer, http3::SessionEvent& event) {
      if (std::holds_alternative<http3::SettingsReceived>(event) && !asked) {
        asked = true;
        EXPECT_TRUE(peer.session.submit_request(
            {{":method", "POST"}, {":scheme", "https"}, {":authority", "backbone"}, {":path", "/"}},
            true));
      }
      answered = answered || std::holds_alternative<http3::ResponseReceived>(event);
    };
    ASSERT_TRUE(run_until([&] { return answered; }));
    caller->on_event = {};
  }
  void TearDown() override {
    for (const auto& node : {caller.get(), called.get()}) {
      node->loop().close({});
    }
    uv_run(&uv, UV_RUN_DEFAULT);
    caller.reset();
    called.reset();
    EXPECT_EQ(uv_loop_close(&uv), 0);
  }

  // Returns false after a minute, within which everything here happens unless it never does.
  bool run_until(const std::function<bool()>& done) {
    const quic::Time end = io::monotonic_now() + std::chrono::seconds(60);
    while (!done()) {
      if (io::monotonic_now() > end) return false;
      uv_run(&uv, UV_RUN_NOWAIT);
    }
    return true;
  }

  uv_loop_t uv;
  std::unique_ptr<Node> caller;
  std::unique_ptr<Node> called;
  Node::Peer* asking = nullptr;     // the caller's side of the connection
  Node::Peer* answering = nullptr;  // the called node's
  http3::StreamId request_id;
};

}  // namespace sheaf::switchboard
