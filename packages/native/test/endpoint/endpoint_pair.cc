#include "endpoint/endpoint_pair.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "crypto/tls_context.h"

namespace sheaf::quic {

namespace {

Address address(std::uint8_t last, std::uint16_t port) {
  Address out;
  out.family = Address::Family::kIpv4;
  out.ip = {10, 0, 0, last};
  out.port = port;
  return out;
}

const TestCertificate& certificate() {
  static const TestCertificate made = make_certificate();
  return made;
}

}  // namespace

EndpointPair::EndpointPair(const Options& options)
    : now(Time(std::chrono::seconds(1000))),
      random(options.seed),
      options_(options),
      client_address_(address(1, 50000)),
      server_address_(address(2, 443)),
      buffer_(65536) {
  // GoogleTest shows this next to every failure.
  testing::Test::RecordProperty("seed", std::to_string(options.seed));
  client_seen_as = client_address_;
  auto client_tls =
      make_tls_client_context({.alpn = {"test"},
                               .certificate_authority_pem = certificate().authority_pem,
                               .certificate_hashes = {},
                               .insecure = false});
  if (!client_tls) std::abort();
  client_tls_ = *client_tls;
  server_config_.connection = options.connection;
  server_config_.admission = options.admission;
  server_config_.memory = options.memory;
  server_config_.secrets = options.secrets;
  server_config_.server = options.server;
  restart_server_without_ticket_keys();
  EndpointConfig config;
  config.connection = options.connection;
  if (options.client_serves) config.server_tls = server_config_.server_tls;
  client = std::make_unique<Endpoint>(config, random);
}

void EndpointPair::restart_server() {
  for (ConnectionDriver* driver : accepted) events_.erase(driver);
  accepted.clear();
  // Goes on behind the nonces of the process before, as the time of day does.
  if (server_config_.server) {
    server_config_.server->first_nonce = static_cast<std::uint64_t>(now.time_since_epoch().count());
  }
  server = std::make_unique<Endpoint>(server_config_, random);
}

void EndpointPair::restart_server_without_ticket_keys() {
  auto tls = make_tls_server_context({.certificate_pem = certificate().certificate_pem,
                                      .private_key_pem = certificate().private_key_pem,
                                      .alpn = {"test"},
                                      .secrets = server_config_.secrets,
                                      .early_data = options_.early_data});
  if (!tls) std::abort();
  server_config_.server_tls = *tls;
  restart_server();
}

void EndpointPair::restart_server_with(ServerSecrets secrets) {
  server_config_.secrets = std::move(secrets);
  restart_server_without_ticket_keys();
}

void EndpointPair::move_server_to(std::string reset_scope) {
  server_config_.reset_scope = std::move(reset_scope);
  restart_server();
}

void EndpointPair::replace_server_by(RoutableIds::Server server,
                                     std::shared_ptr<Placement> placement) {
  server_config_.server = std::move(server);
  server_config_.placement = std::move(placement);
  restart_server();
}

void EndpointPair::change_groups() {
  const std::string common =
      "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:"
      "%DISABLE_TLS13_COMPAT_MODE:-GROUP-ALL";
  const auto server_problem = server_config_.server_tls->set_priority(common + ":+GROUP-SECP256R1");
  const auto client_problem =
      client_tls_->set_priority(common + ":+GROUP-X25519:+GROUP-SECP384R1:+GROUP-SECP256R1");
  if (server_problem || client_problem) std::abort();
}

ConnectionDriver& EndpointPair::connect(std::vector<std::uint8_t> session) {
  ClientHandshakeConfig handshake;
  handshake.tls = client_tls_;
  handshake.server_name = "localhost";
  handshake.path = {client_address_, server_address_};
  if (!session.empty()) handshake.session = parse_session_state(session);
  auto driver = client->connect(std::move(handshake), options_.connection, now);
  if (!driver) std::abort();
  return **driver;
}

void EndpointPair::launch(bool to_server, std::vector<std::uint8_t> bytes, AddressPair path,
                          Ecn ecn) {
  const Weather& weather = options_.weather;
  if (random.uniform() < weather.loss) return;
  if (ecn != Ecn::kNotEct && random.uniform() < weather.ecn_marking) ecn = Ecn::kCe;
  const int copies = random.uniform() < weather.duplication ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    Duration delay = weather.delay;
    if (random.uniform() < weather.reordering) {
      delay += Duration(static_cast<std::int64_t>(
          random.below(static_cast<std::uint64_t>(3 * weather.delay.count()))));
    }
    network_.push({now + delay, order_++, to_server, bytes, path, ecn});
  }
}

void EndpointPair::send_all(Endpoint& endpoint, bool to_server) {
  for (;;) {
    TransmitBatch batch;
    batch.buffer = buffer_;
    endpoint.poll_transmit(batch, now);
    if (batch.size == 0) return;
    for (std::size_t offset = 0; offset < batch.size; offset += batch.segment_size) {
      const std::size_t size = std::min(batch.segment_size, batch.size - offset);
      ++datagrams_sent;
      std::vector<std::uint8_t> bytes(buffer_.begin() + static_cast<std::ptrdiff_t>(offset),
                                      buffer_.begin() + static_cast<std::ptrdiff_t>(offset + size));
      // The addresses are those that the receiver sees; the NAT is in front of the client.
      AddressPair path{batch.path.remote, batch.path.local};
      if (to_server && path.remote == client_address_) path.remote = client_seen_as;
      if (filter && !filter(to_server, bytes, path)) continue;
      if (!to_server && path.local == client_seen_as) path.local = client_address_;
      launch(to_server, std::move(bytes), path, batch.ecn);
    }
  }
}

void EndpointPair::collect(Endpoint& endpoint) {
  while (ConnectionDriver* driver = endpoint.next_active(now)) {
    if (&endpoint == server.get() &&
        std::find(accepted.begin(), accepted.end(), driver) == accepted.end()) {
      accepted.push_back(driver);
    }
    while (auto event = driver->poll_event(now)) events_[driver].push_back(std::move(*event));
  }
  endpoint.reap([this](ConnectionDriver& driver) { std::erase(accepted, &driver); });
}

void EndpointPair::pump() {
  for (Endpoint* endpoint : {client.get(), server.get()}) {
    collect(*endpoint);
    send_all(*endpoint, endpoint == client.get());
    collect(*endpoint);
  }
}

bool EndpointPair::run_until(const std::function<bool()>& done, Duration limit) {
  const Time end = now + limit;
  pump();
  // A loop without progress in virtual time is a fault of the engine, so the number of turns is
  // bounded.
  std::uint64_t steps = 0;
  while (!done()) {
    Time next = std::min(client->next_timeout(), server->next_timeout());
    if (!network_.empty()) next = std::min(next, network_.top().at);
    if (next > end || next == k_never) {
      now = end;
      return false;
    }
    if (next <= now && ++steps > 100000) {
      ADD_FAILURE() << "no progress in virtual time, seed " << options_.seed;
      return false;
    }
    if (next > now) steps = 0;
    now = std::max(now, next);
    while (!network_.empty() && network_.top().at <= now) {
      InFlight datagram = network_.top();
      network_.pop();
      Endpoint& receiver = datagram.to_server ? *server : *client;
      receiver.receive({datagram.bytes, datagram.path, datagram.ecn}, now);
    }
    client->on_timeout(now);
    server->on_timeout(now);
    pump();
  }
  return true;
}

bool EndpointPair::run_until_confirmed() {
  return run_until([this] {
    for (const auto& [driver, list] : events_) {
      for (const Event& event : list) {
        if (std::holds_alternative<HandshakeConfirmedEvent>(event) &&
            driver->connection().role() == Role::kClient) {
          return true;
        }
      }
    }
    return false;
  });
}

const ConnectionClosed* EndpointPair::closed(const ConnectionDriver* driver) const {
  const auto found = events_.find(driver);
  if (found == events_.end()) return nullptr;
  for (const Event& event : found->second) {
    if (const auto* closed = std::get_if<ConnectionClosed>(&event)) return closed;
  }
  return nullptr;
}

}  // namespace sheaf::quic
