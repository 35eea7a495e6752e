#include "crypto/handshake_world.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "crypto/tls_clock.h"

namespace sheaf::quic {
namespace {

const Address k_client_address{
    .ip = {127, 0, 0, 1}, .port = 40000, .family = Address::Family::kIpv4};
const Address k_server_address{
    .ip = {127, 0, 0, 1}, .port = 4433, .family = Address::Family::kIpv4};
constexpr std::uint8_t k_done_packet = 0x40;  // a short header

}  // namespace

const HandshakeEvent* Peer::find(HandshakeEvent::Kind kind) const {
  for (const HandshakeEvent& event : events) {
    if (event.kind == kind) return &event;
  }
  return nullptr;
}

std::size_t Peer::count(HandshakeEvent::Kind kind) const {
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(), [&](const auto& e) { return e.kind == kind; }));
}

void Peer::poll() {
  while (auto event = handshake->poll_event()) events.push_back(std::move(*event));
}

HandshakeWorld::HandshakeWorld(Options options, std::uint64_t seed)
    : options_(std::move(options)), random_(seed) {
  secret_.fill(7);
}

ConnectionId HandshakeWorld::random_id(std::size_t length) {
  ConnectionId id;
  id.length = static_cast<std::uint8_t>(length);
  random_.fill({id.bytes.data(), length});
  return id;
}

void HandshakeWorld::start_client() {
  ClientHandshakeConfig config;
  config.tls = options_.client_context;
  config.server_name = options_.server_name;
  config.parameters = options_.client_parameters;
  config.source = random_id(8);
  config.path = {k_client_address, k_server_address};
  config.session = options_.session;
  config.version = options_.version;
  config.original_version = options_.original_version;
  config.timeout = options_.timeout;
  config.initial_rtt = std::chrono::milliseconds(100);
  config.key_log = options_.client_key_log;
  const TlsClockShift shift(options_.client_clock);
  auto made = Handshake::make_client(config, random_, now);
  ASSERT_TRUE(made) << made.error().reason;
  client.handshake = std::move(*made);
  client.poll();
  early_secret_at_once = client.find(HandshakeEvent::Kind::kEarlySecret) != nullptr;
}

void HandshakeWorld::accept(const std::vector<std::uint8_t>& datagram) {
  const auto header = peek_datagram(datagram, 8);
  if (header.kind == DatagramHeader::Kind::kUnsupportedVersion) {
    std::vector<std::uint8_t> answer(1200);
    answer.resize(write_version_negotiation(answer, 5, header.source, header.destination));
    return send(false, answer);
  }
  const auto initial = accept_initial(datagram);
  if (!initial || std::find(gone_.begin(), gone_.end(), initial->destination) != gone_.end()) {
    return;
  }
  ServerHandshakeConfig config;
  config.tls = options_.server_context;
  config.parameters = options_.server_parameters;
  config.client_destination = config.original_destination = initial->destination;
  config.client_source = initial->source;
  config.version = initial->version;
  config.path = {k_server_address, k_client_address};
  config.preferred_versions = options_.preferred_versions;
  config.timeout = options_.timeout;
  config.key_log = options_.server_key_log;
  if (is_retry_token(initial->token)) {
    const auto original =
        verify_retry_token(secret_, initial->version, initial->token, k_client_address,
                           initial->destination, std::chrono::seconds(30), now);
    if (!original) return;
    config.retried = true;
    config.original_destination = *original;
  } else if (options_.accept_address_token && !initial->token.empty()) {
    address_validated = verify_address_token(secret_, initial->token, k_client_address,
                                             std::chrono::hours(1), now, initial->version);
  } else if (options_.retry) {
    const ConnectionId source = random_id(8);
    const auto token = make_retry_token(secret_, initial->version, k_client_address, source,
                                        initial->destination, now);
    std::vector<std::uint8_t> retry(1200);
    retry.resize(
        write_retry(retry, initial->version, initial->source, source, initial->destination, token));
    return send(false, retry);
  }
  if (config.retried || address_validated) config.token = initial->token;
  config.source = random_id(8);
  auto made = Handshake::make_server(config, random_, now);
  ASSERT_TRUE(made) << made.error().reason;
  former_server = std::exchange(server, Peer{});
  server.handshake = std::move(*made);
  gone_.push_back(initial->destination);
}

bool HandshakeWorld::client_began_again() {
  client.poll();
  return client.count(HandshakeEvent::Kind::kEarlyRejected) > 0 && !former_server.handshake;
}

void HandshakeWorld::deliver(bool to_server, std::vector<std::uint8_t> datagram) {
  if (to_server && !datagram.empty() && (datagram[0] & 0x80) != 0 &&
      (!server.handshake || client_began_again())) {
    accept(datagram);
  }
  Peer& peer = to_server ? server : client;
  if (!peer.handshake) return;
  receive(peer, std::move(datagram));
  // A failure without a packet means that this was no attempt at all.
  if (to_server && peer.handshake->failure() && peer.handshake->failure()->silent) {
    gone_.clear();
    server = Peer{};
  }
}

void HandshakeWorld::receive(Peer& peer, std::vector<std::uint8_t> datagram) {
  if (datagram.empty()) return;
  if ((datagram[0] & 0x80) == 0) {
    peer.engine_packets.push_back(datagram);
    if (&peer == &client) on_done(datagram);
    return;
  }
  const std::size_t length = datagram.size();
  DatagramParts parts = split_datagram(datagram);
  EXPECT_EQ(datagram.size(), length);
  if (parts.handshake) peer.handshake->receive(datagram, Ecn::kNotEct, now);
  for (auto& packet : parts.packets) {
    if (&peer == &client) on_done(packet);
    peer.engine_packets.push_back(std::move(packet));
  }
}

void HandshakeWorld::on_done(Bytes packet) {
  // Represents the tag of a 1-RTT packet, which nobody else can make (RFC 9001 §5).
  const bool authentic =
      std::find_if(done_packets_.begin(), done_packets_.end(), [packet](const auto& known) {
        return std::equal(known.begin(), known.end(), packet.begin(), packet.end());
      }) != done_packets_.end();
  if (!authentic || confirmed) return;
  client.poll();
  if (!client.handshake->completed()) return;  // the server repeats it
  confirmed = true;
  client.handshake->release_connection();
  const TransportStatus status = client.handshake->receive_post_handshake(packet.subspan(1));
  EXPECT_TRUE(status) << status.error().reason;
  client.poll();
}

void HandshakeWorld::send(bool to_server, std::vector<std::uint8_t> datagram) {
  const int number = sent[to_server]++;
  largest_datagram = std::max(largest_datagram, datagram.size());
  if (to_server) client_datagrams.push_back(datagram);
  if (options_.drop && options_.drop(to_server, number)) return;
  Duration delay = k_delay;
  if (options_.hold_first_datagram && to_server && number == 0) delay += k_delay;
  in_flight_.push({now + delay, order_++, to_server, std::move(datagram)});
}

void HandshakeWorld::inject(bool to_server, std::vector<std::uint8_t> datagram) {
  in_flight_.push({now, order_++, to_server, std::move(datagram)});
}

void HandshakeWorld::flush(Peer& peer, bool to_server) {
  if (!peer.handshake) return;
  for (;;) {
    std::vector<std::uint8_t> datagram(1500);
    datagram.resize(peer.handshake->transmit(datagram, now));
    if (datagram.empty()) break;
    send(to_server, std::move(datagram));
  }
  peer.poll();
}

void HandshakeWorld::repeat_done() {
  if (!server.handshake || !server.handshake->completed() || confirmed) return;
  server.handshake->release_connection();
  if (next_done_ != k_never && now < next_done_) return;
  next_done_ = now + std::chrono::milliseconds(100);
  std::vector<std::uint8_t> packet{k_done_packet};
  for (const HandshakeEvent& event : server.events) {
    if (event.kind == HandshakeEvent::Kind::kTicket) {
      packet.insert(packet.end(), event.data.begin(), event.data.end());
    }
  }
  done_packets_.push_back(packet);
  send(false, packet);
}

Time HandshakeWorld::next_event() const {
  Time next = in_flight_.empty() ? k_never : in_flight_.top().arrival;
  next = std::min(next, client.handshake->next_timeout());
  if (server.handshake) next = std::min(next, server.handshake->next_timeout());
  if (!confirmed) next = std::min(next, next_done_);
  return next;
}

bool HandshakeWorld::run() {
  start_client();
  if (!client.handshake) return false;
  const Time end = now + k_limit;
  for (;;) {
    flush(client, true);
    flush(server, false);
    repeat_done();
    const Time next = next_event();
    const bool failed =
        client.handshake->failure() || (server.handshake && server.handshake->failure());
    if ((confirmed || failed) && in_flight_.empty()) return confirmed;
    if (next == k_never || next > end) return confirmed;
    now = std::max(now, next);
    while (!in_flight_.empty() && in_flight_.top().arrival <= now) {
      InFlight arrived = in_flight_.top();
      in_flight_.pop();
      deliver(arrived.to_server, std::move(arrived.bytes));
      flush(client, true);
      flush(server, false);
    }
    for (Peer* peer : {&client, &server}) {
      if (peer->handshake) peer->handshake->on_timeout(now);
    }
  }
}

SessionState HandshakeWorld::session_state() const {
  SessionState state;
  if (const auto* event = client.find(HandshakeEvent::Kind::kSessionTicket)) {
    state.tls_session = event->data;
  }
  if (const auto* event = client.find(HandshakeEvent::Kind::kPeerParameters)) {
    state.peer_parameters = event->data;
  }
  state.alpn = client.handshake->alpn();
  state.version = client.handshake->version();
  state.token = make_address_token(secret_, k_client_address, now, state.version);
  return state;
}

const TestCertificate& shared_certificate() {
  static const TestCertificate certificate = make_certificate();
  return certificate;
}

std::shared_ptr<TlsContext> server_context(TlsServerConfig config) {
  if (config.certificate_pem.empty()) config.certificate_pem = shared_certificate().certificate_pem;
  if (config.private_key_pem.empty()) config.private_key_pem = shared_certificate().private_key_pem;
  if (config.alpn.empty()) config.alpn = {"h3"};
  auto made = make_tls_server_context(config);
  EXPECT_TRUE(made) << made.error();
  return made ? *made : nullptr;
}

std::shared_ptr<TlsContext> client_context(TlsClientConfig config) {
  if (config.alpn.empty()) config.alpn = {"h3"};
  if (!config.insecure && config.certificate_hashes.empty() && config.public_key_hashes.empty() &&
      config.certificate_authority_pem.empty()) {
    config.certificate_hashes = {shared_certificate().leaf_hash};
  }
  auto made = make_tls_client_context(config);
  EXPECT_TRUE(made) << made.error();
  return made ? *made : nullptr;
}

HandshakeWorld::Options default_options() {
  static const auto shared_server = server_context();
  static const auto shared_client = client_context();
  HandshakeWorld::Options options;
  options.client_context = shared_client;
  options.server_context = shared_server;
  for (TransportParameters* parameters : {&options.client_parameters, &options.server_parameters}) {
    parameters->max_idle_timeout = std::chrono::seconds(60);
    parameters->initial_max_data = 1 << 20;
    parameters->initial_max_stream_data_bidi_local = 1 << 18;
    parameters->initial_max_stream_data_bidi_remote = 1 << 18;
    parameters->initial_max_streams_bidi = 100;
    parameters->max_datagram_frame_size = 65535;
    parameters->grease_quic_bit = true;
    parameters->initial_max_path_id = 3;
  }
  options.server_parameters.stateless_reset_token = StatelessResetToken{1, 2, 3};
  return options;
}

bool secrets_match(const HandshakeWorld& world) {
  using Kind = HandshakeEvent::Kind;
  const auto equal = [](const HandshakeEvent* a, const HandshakeEvent* b) {
    return a != nullptr && b != nullptr && a->secret.length >= 32 &&
           a->secret.suite == b->secret.suite && a->secret.version == b->secret.version &&
           std::ranges::equal(a->secret.view(), b->secret.view());
  };
  return equal(world.client.find(Kind::kSendSecret), world.server.find(Kind::kReceiveSecret)) &&
         equal(world.client.find(Kind::kReceiveSecret), world.server.find(Kind::kSendSecret));
}

}  // namespace sheaf::quic
