#include "workers/worker_world.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "crypto/datagram.h"
#include "crypto/tls_context.h"

namespace sheaf::workers {

using quic::Address;
using quic::ConnectionDriver;
using quic::Endpoint;
using quic::StreamEvent;
using quic::StreamId;

namespace {

constexpr quic::Duration k_delay = std::chrono::milliseconds(5);

Address ipv4(std::uint8_t last, std::uint16_t port) {
  Address out;
  out.family = Address::Family::kIpv4;
  out.ip = {10, 0, 0, last};
  out.port = port;
  return out;
}

const quic::TestCertificate& world_certificate() {
  static const quic::TestCertificate made = quic::make_certificate();
  return made;
}

}  // namespace

WorkerWorld::WorkerWorld(const Options& options)
    : random(options.seed), options_(options), server_address_(ipv4(2, 443)) {
  testing::Test::RecordProperty("seed", std::to_string(options.seed));
  const auto client_tls =
      quic::make_tls_client_context({.alpn = {"test"},
                                     .certificate_authority_pem = world_certificate().authority_pem,
                                     .certificate_hashes = {},
                                     .insecure = false});
  quic::ServerSecret secret;
  random.fill(secret.bytes);
  server_config_.secrets = {secret};
  const auto server_tls =
      quic::make_tls_server_context({.certificate_pem = world_certificate().certificate_pem,
                                     .private_key_pem = world_certificate().private_key_pem,
                                     .alpn = {"test"},
                                     .secrets = server_config_.secrets,
                                     .early_data = true});
  if (!client_tls || !server_tls) std::abort();
  client_tls_ = *client_tls;
  server_config_.server_tls = *server_tls;
  server_config_.admission.retry = options.retry;
  server_config_.admission.max_connections = options.max_connections;
  server_config_.admission.max_connections_per_network = options.max_connections_per_network;
  const quic::Steering steering(options.workers, quic::k_local_id_length,
                                quic::Steering::random_key(random));
  group_ = std::make_shared<WorkerGroup>(steering);
  group_->set_steered(options.steered);
  workers_.resize(options.workers);
  for (unsigned worker = 0; worker < options.workers; ++worker) start(worker);
}

void WorkerWorld::start(unsigned worker) {
  quic::EndpointConfig config = server_config_;
  config.placement = std::make_shared<WorkerPlacement>(group_, worker);
  config.clients = group_->clients();
  workers_[worker] = std::make_unique<Endpoint>(config, random);
  group_->join(worker, [] {});
}

void WorkerWorld::crash(unsigned worker) {
  workers_[worker].reset();
  group_->leave(worker);
  start(worker);
}

WorkerWorld::Client& WorkerWorld::connect(std::vector<std::uint8_t> session) {
  Client& client = *clients.emplace_back(std::make_unique<Client>());
  client.address = client.seen_as = ipv4(1, next_port_++);
  client.endpoint = std::make_unique<Endpoint>(quic::EndpointConfig{}, random);
  quic::ClientHandshakeConfig handshake;
  handshake.tls = client_tls_;
  handshake.server_name = "localhost";
  handshake.path = {client.address, server_address_};
  if (!session.empty()) handshake.session = quic::parse_session_state(session);
  auto driver = client.endpoint->connect(std::move(handshake), {}, now);
  if (!driver) std::abort();
  client.driver = *driver;
  return client;
}

void WorkerWorld::rebind(Client& client) { client.seen_as = ipv4(1, next_port_++); }

void WorkerWorld::send(Client& client, std::size_t bytes) {
  auto& writer = client.driver->connection().streams().writer();
  const auto stream = writer.open(quic::Directionality::kBidirectional);
  if (!stream) std::abort();
  const auto sent = quic::pattern(*stream, 0, bytes);
  if (!writer.write(*stream, quic::SendChunk::copy_of(sent), true)) std::abort();
  client.endpoint->wake(*client.driver, now);
}

std::optional<unsigned> WorkerWorld::worker_of(const Client& client) const {
  if (!client.driver) return std::nullopt;
  const quic::ConnectionId name = client.driver->original_destination();
  for (unsigned worker = 0; worker < workers_.size(); ++worker) {
    bool found = false;
    workers_[worker]->for_each(
        [&](ConnectionDriver& driver) { found = found || driver.original_destination() == name; });
    if (found) return worker;
  }
  return std::nullopt;
}

// --- network ------------------------------------------------------------------------------------

unsigned WorkerWorld::chosen_by_kernel(const InFlight& datagram) {
  const auto workers = static_cast<unsigned>(workers_.size());
  if (random.uniform() < options_.astray) return static_cast<unsigned>(random.below(workers));
  const auto by_address =
      static_cast<unsigned>(datagram.path.remote.port * 2654435761u >> 8) % workers;
  if (!group_->steered()) return by_address;
  const auto header = quic::peek_datagram(datagram.bytes, quic::k_local_id_length);
  return group_->steering().worker_of(header.destination).value_or(by_address);
}

WorkerWorld::Client* WorkerWorld::client_seen_as(const Address& address) {
  const auto found =
      std::ranges::find_if(clients, [&](const auto& client) { return client->seen_as == address; });
  return found == clients.end() ? nullptr : found->get();
}

void WorkerWorld::deliver(InFlight& datagram) {
  if (datagram.to_server) {
    workers_[chosen_by_kernel(datagram)]->receive({datagram.bytes, datagram.path, datagram.ecn},
                                                  now);
    return read_mail();
  }
  // What is for an address that a client had is lost.
  if (Client* client = client_seen_as(datagram.path.local)) {
    datagram.path.local = client->address;
    client->endpoint->receive({datagram.bytes, datagram.path, datagram.ecn}, now);
  }
}

void WorkerWorld::read_mail() {
  for (unsigned worker = 0; worker < workers_.size(); ++worker) {
    group_->take(worker, [&](const quic::Datagram& datagram, quic::Origin origin) {
      workers_[worker]->receive(datagram, now, origin);
    });
    if (const auto request = group_->take_room_request(worker))
      workers_[worker]->make_room(*request, now);
  }
}

void WorkerWorld::send_all(Endpoint& endpoint, Client* client) {
  for (;;) {
    quic::TransmitBatch batch;
    batch.buffer = buffer_;
    endpoint.poll_transmit(batch, now);
    if (batch.size == 0) return;
    for (std::size_t offset = 0; offset < batch.size; offset += batch.segment_size) {
      if (random.uniform() < options_.loss) continue;
      const std::size_t size = std::min(batch.segment_size, batch.size - offset);
      const quic::Bytes bytes = quic::Bytes(buffer_).subspan(offset, size);
      quic::AddressPair path{batch.path.remote, batch.path.local};
      if (client) path.remote = client->seen_as;
      network_.push({now + k_delay,
                     order_++,
                     client != nullptr,
                     {bytes.begin(), bytes.end()},
                     path,
                     batch.ecn});
    }
  }
}

// --- applications -------------------------------------------------------------------------------

void WorkerWorld::echo(ConnectionDriver& driver, StreamId stream) {
  std::array<std::uint8_t, 4096> buffer;
  for (;;) {
    const auto result = driver.connection().streams().reader().read(stream, buffer, now);
    if (!result || (result->bytes == 0 && !result->finished)) return;
    const auto read = quic::Bytes(buffer).first(result->bytes);
    // The client's windows are larger than what a test sends.
    if (!driver.connection().streams().writer().write(stream, quic::SendChunk::copy_of(read),
                                                      result->finished))
      return;
    if (result->finished) return;
  }
}

void WorkerWorld::collect_server(Endpoint& endpoint) {
  while (ConnectionDriver* driver = endpoint.next_active(now)) {
    bool any = false;
    while (const auto event = driver->poll_event(now)) {
      const auto* stream = std::get_if<StreamEvent>(&*event);
      if (!stream || stream->kind != StreamEvent::Kind::kReadable) continue;
      echo(*driver, stream->stream);
      any = true;
    }
    if (any) endpoint.wake(*driver, now);
  }
  endpoint.reap([](ConnectionDriver&) {});
}

void WorkerWorld::collect_client(Client& client) {
  Endpoint& endpoint = *client.endpoint;
  while (ConnectionDriver* driver = endpoint.next_active(now)) {
    bool any = false;
    while (auto event = driver->poll_event(now)) {
      if (const auto* closed = std::get_if<quic::ConnectionClosed>(&*event))
        client.closed = *closed;
      if (std::holds_alternative<quic::HandshakeConfirmedEvent>(*event)) client.established = true;
      if (std::holds_alternative<quic::SessionTicketEvent>(*event))
        client.session = driver->session();
      const auto* stream = std::get_if<StreamEvent>(&*event);
      if (!stream || stream->kind != StreamEvent::Kind::kReadable) continue;
      client.echoes.read(*driver, stream->stream, now);
      any = true;
    }
    if (any) endpoint.wake(*driver, now);
  }
  endpoint.reap([&](ConnectionDriver&) { client.driver = nullptr; });
}

// --- time ---------------------------------------------------------------------------------------

void WorkerWorld::pump() {
  for (const auto& worker : workers_) {
    collect_server(*worker);
    send_all(*worker, nullptr);
    collect_server(*worker);
  }
  for (const auto& client : clients) {
    collect_client(*client);
    send_all(*client->endpoint, client.get());
    collect_client(*client);
  }
}

bool WorkerWorld::run_until(const std::function<bool()>& done, quic::Duration limit) {
  const quic::Time end = now + limit;
  pump();
  while (!done()) {
    quic::Time next = network_.empty() ? quic::k_never : network_.top().at;
    for (const auto& worker : workers_) next = std::min(next, worker->next_timeout());
    for (const auto& client : clients) next = std::min(next, client->endpoint->next_timeout());
    if (next > end) {
      now = end;
      return false;
    }
    now = std::max(now, next);
    while (!network_.empty() && network_.top().at <= now) {
      InFlight datagram = network_.top();
      network_.pop();
      deliver(datagram);
    }
    for (const auto& worker : workers_) worker->on_timeout(now);
    for (const auto& client : clients) client->endpoint->on_timeout(now);
    pump();
  }
  return true;
}

bool WorkerWorld::run_until_established() {
  return run_until([this] {
    return std::ranges::all_of(clients, [](const auto& client) { return client->established; });
  });
}

}  // namespace sheaf::workers
