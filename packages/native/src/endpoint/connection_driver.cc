#include "endpoint/connection_driver.h"

#include <algorithm>

#include "wire/packet_header.h"

namespace sheaf::quic {

namespace {

constexpr std::uint64_t k_max_handshake_datagram = 1452;
// Minimum room, in bytes, that `Handshake::transmit` needs.
constexpr std::uint64_t k_min_handshake_room = 1200;
// Bytes that an open connection takes beside its streams.
constexpr std::uint64_t k_connection_memory = 32 << 10;

}  // namespace

ConnectionDriver::ConnectionDriver(Role role, const ConnectionConfig& config, Random& random,
                                   Time now)
    : role_(role),
      started_(now),
      connection_(std::make_unique<Connection>(role, config, random, now)),
      first_datagrams_(config.first_datagram_size) {}

ConnectionDriver::~ConnectionDriver() = default;

Result<std::unique_ptr<ConnectionDriver>, HandshakeFailure> ConnectionDriver::make_client(
    ClientHandshakeConfig handshake, const ConnectionConfig& config, Random& random, Time now) {
  std::unique_ptr<ConnectionDriver> driver(
      new ConnectionDriver(Role::kClient, config, random, now));
  handshake.parameters = driver->connection_->local_parameters();
  auto made = Handshake::make_client(handshake, random, now);
  if (!made) return made.error();
  driver->handshake_ = std::move(*made);
  driver->path_ = handshake.path;
  driver->local_id_ = handshake.source;
  driver->original_destination_ = driver->handshake_->destination();
  driver->address_validated_ = true;
  if (handshake.session) {
    driver->session_ = *handshake.session;
    driver->raw_peer_parameters_ = handshake.session->peer_parameters;
  }
  driver->process_handshake(now);
  return driver;
}

Result<std::unique_ptr<ConnectionDriver>, HandshakeFailure> ConnectionDriver::make_server(
    ServerHandshakeConfig handshake, const ConnectionConfig& config, Random& random,
    const SharedIdMaker& ids, Time now) {
  std::unique_ptr<ConnectionDriver> driver(
      new ConnectionDriver(Role::kServer, config, random, now));
  driver->connection_->routing().set_id_maker(ids);
  handshake.parameters = driver->connection_->local_parameters();
  handshake.parameters.stateless_reset_token = ids->reset_token(handshake.source);
  auto made = Handshake::make_server(handshake, random, now);
  if (!made) return made.error();
  driver->handshake_ = std::move(*made);
  driver->path_ = handshake.path;
  driver->local_id_ = handshake.source;
  driver->original_destination_ = handshake.original_destination;
  driver->address_validated_ = !handshake.token.empty();
  return driver;
}

Result<std::unique_ptr<ConnectionDriver>, TransportError> ConnectionDriver::make_backend(
    const BackendSeed& seed, const ConnectionConfig& config, Random& random,
    const SharedIdMaker& ids, Time now) {
  std::unique_ptr<ConnectionDriver> driver(
      new ConnectionDriver(Role::kServer, seed.adapt(config), random, now));
  driver->connection_->routing().set_id_maker(ids);
  const TransportStatus status = establish_backend(*driver->connection_, seed, now);
  if (!status) return status.error();
  driver->backend_exchange_ = std::make_unique<BackendExchange>(*driver->connection_, seed);
  driver->local_id_ = driver->original_destination_ = seed.local_ids.front().id;
  driver->alpn_ = "h3";
  driver->established_ = driver->completed_ = driver->address_validated_ = true;
  return driver;
}

std::uint64_t ConnectionDriver::memory_bytes() const {
  return connection_->streams().memory().used() +
         (handshake_ ? k_half_open_memory : k_connection_memory);
}

// --- network ------------------------------------------------------------------------------------

void ConnectionDriver::receive(const Datagram& datagram, Time now) {
  if (datagram.payload.empty()) return;
  if (datagram.payload[0] & k_long_header_bit) {
    receive_long(datagram, now);
  } else {
    connection_->receive(datagram, now);
  }
}

void ConnectionDriver::receive_long(const Datagram& datagram, Time now) {
  // RFC 9000 §9: no peer migrates before the handshake is confirmed, and each address has its own
  // anti-amplification limit (§8.1).
  if (handshake_ && datagram.path.remote != path_.remote) return;
  const bool handshaking = handshake_ != nullptr;
  if (handshaking) {
    first_datagrams_.on_received();
    largest_handshake_datagram_ =
        std::max(largest_handshake_datagram_, static_cast<std::uint16_t>(datagram.payload.size()));
    handshake_bytes_received_ += datagram.payload.size();
    if (limited()) connection_->establishment().count_handshake_bytes(datagram.payload.size(), 0);
  }
  DatagramParts parts = split_datagram(datagram.payload);
  if (handshaking && parts.handshake) {
    handshake_->receive(datagram.payload, datagram.ecn, now);
    if (role_ == Role::kServer && handshake_->address_validated()) {
      address_validated_ = true;
      if (established_) connection_->establishment().validate_address();
    }
    process_handshake(now);
  }
  // These packets may follow a late Handshake packet, which nobody needs any more.
  for (std::vector<std::uint8_t>& packet : parts.packets) {
    connection_->receive({packet, datagram.path, datagram.ecn, handshaking}, now);
  }
}

void ConnectionDriver::poll_transmit(TransmitBatch& batch, Time now) {
  batch.size = 0;
  batch.segment_size = 0;
  if (handshake_ && transmit_handshake(batch, now)) return;
  connection_->poll_transmit(batch, now);
}

bool ConnectionDriver::transmit_handshake(TransmitBatch& batch, Time now) {
  repeat_close_in_handshake(now);
  // RFC 9000 §8.1: ngtcp2 enforces the limit, but does not know about 0.5-RTT packets, which share
  // the same allowance.
  const std::uint64_t allowance =
      limited() ? connection_->establishment().amplification_allowance() : k_max_handshake_datagram;
  if (allowance < k_min_handshake_room) return false;
  const MutableBytes room =
      batch.buffer.first(std::min<std::uint64_t>(allowance, k_max_handshake_datagram));
  std::size_t size = handshake_->transmit(room, now);
  // The handshake may have failed while it wrote.
  if (handshake_->failure()) process_handshake(now);
  if (size == 0) return false;
  if (role_ == Role::kClient) size = first_datagrams_.grow(room, size);
  handshake_bytes_sent_ += size;
  if (limited()) connection_->establishment().count_handshake_bytes(0, size);
  batch.size = size;
  batch.segment_size = size;
  batch.path = path_;
  batch.ecn = Ecn::kNotEct;
  return true;
}

void ConnectionDriver::repeat_close_in_handshake(Time now) {
  if (connection_->state() != Connection::State::kClosing || handshake_->failure()) return;
  // RFC 9000 §10.2.3: the peer may not have the 1-RTT keys yet, and packets of the handshake must
  // not reveal the state of the application.
  const ConnectionClosed& closed = *connection_->closed();
  if (closed.cause == ConnectionClosed::Cause::kLocalApplication) {
    handshake_->close(TransportErrorCode::kApplicationError, "", now);
  } else {
    handshake_->close(static_cast<TransportErrorCode>(closed.error), closed.reason, now);
  }
}

Time ConnectionDriver::next_timeout() const {
  Time next = connection_->next_timeout();
  if (handshake_) next = std::min(next, handshake_->next_timeout());
  // Messages between servers are polled like events.
  if (primary_exchange_) next = std::min(next, primary_exchange_->next_timeout());
  if (backend_exchange_) next = std::min(next, backend_exchange_->next_timeout());
  return next;
}

void ConnectionDriver::on_timeout(Time now) {
  if (handshake_ && now >= handshake_->next_timeout()) {
    first_datagrams_.on_timeout();
    handshake_->on_timeout(now);
    process_handshake(now);
  }
  if (now >= connection_->next_timeout()) connection_->on_timeout(now);
}

// --- handshake ----------------------------------------------------------------------------------

ConnectionSeed ConnectionDriver::seed() const {
  return {.send_secret = send_secret_,
          .receive_secret = receive_secret_,
          .peer_parameters = peer_parameters_.value_or(TransportParameters{}),
          .local_id = local_id_,
          .remote_id = handshake_->destination(),
          .path = path_,
          .initial_rtt = handshake_->smoothed_rtt(),
          .address_validated = address_validated_};
}

void ConnectionDriver::process_handshake(Time now) {
  while (const auto event = handshake_->poll_event()) {
    const TransportStatus status = process(*event, now);
    if (!status) return fail(status.error(), now);
  }
  if (!tickets_.empty() || (completed_ && role_ == Role::kServer)) {
    connection_->establishment().set_initial_rtt(handshake_->smoothed_rtt());
    connection_->establishment().confirm_handshake(tickets_, now);
    if (!address_token_.empty()) connection_->establishment().send_new_token(address_token_);
    tickets_.clear();
    handshake_.reset();
    return;
  }
  const auto& failure = handshake_->failure();
  // A connection that is closing has reported its cause, and stays for a while (RFC 9000 §10.2).
  if (failure && connection_->closed() == nullptr) {
    connection_->abandon({.cause = ConnectionClosed::Cause::kHandshakeFailed,
                          .error = static_cast<std::uint64_t>(failure->code),
                          .frame_type = 0,
                          .reason = failure->reason});
  }
}

TransportStatus ConnectionDriver::process(const HandshakeEvent& event, Time now) {
  using Kind = HandshakeEvent::Kind;
  switch (event.kind) {
    case Kind::kPeerParameters: {
      auto decoded = decode_transport_parameters(event.data);
      if (!decoded) return decoded.error();
      peer_parameters_ = *decoded;
      raw_peer_parameters_ = event.data;
      return {};
    }
    case Kind::kEarlySecret: {
      if (!peer_parameters_) {
        // On a client, these are the parameters remembered from the earlier connection.
        auto decoded = decode_transport_parameters(raw_peer_parameters_);
        if (!decoded) return {};
        peer_parameters_ = *decoded;
      }
      early_data_started_ = true;
      alpn_ = role_ == Role::kClient ? session_.alpn : handshake_->alpn();
      TransportStatus status = connection_->establishment().start_early(event.secret, seed(), now);
      if (role_ == Role::kClient) peer_parameters_.reset();
      return status;
    }
    case Kind::kEarlyRejected:
      connection_->establishment().reject_early_data(now);
      return {};
    case Kind::kSendSecret:
      send_secret_ = event.secret;
      alpn_ = handshake_->alpn();
      if (role_ == Role::kServer && peer_parameters_) {
        // 0.5-RTT: the server may send before the client's Finished has arrived.
        established_ = true;
        TransportStatus status = connection_->establishment().establish(seed(), now);
        // It shows what the path carries in the other direction, and that the client wants as much.
        connection_->establishment().try_first(largest_handshake_datagram_);
        connection_->establishment().count_handshake_bytes(handshake_bytes_received_,
                                                           handshake_bytes_sent_);
        return status;
      }
      return {};
    case Kind::kReceiveSecret:
      receive_secret_ = event.secret;
      if (role_ == Role::kServer)
        connection_->establishment().install_receive_secret(event.secret, now);
      return {};
    case Kind::kCompleted:
      return complete(now);
    case Kind::kTicket:
      tickets_.insert(tickets_.end(), event.data.begin(), event.data.end());
      return {};
    case Kind::kSessionTicket:
      session_.tls_session = event.data;
      session_.peer_parameters = raw_peer_parameters_;
      session_.alpn = alpn_;
      events_.push_back(SessionTicketEvent{});
      return {};
  }
  return {};
}

TransportStatus ConnectionDriver::complete(Time now) {
  completed_ = true;
  alpn_ = handshake_->alpn();
  version_ = handshake_->version();
  session_.version = version_;
  resumed_ = handshake_->resumed();
  early_data_accepted_ = handshake_->early_data_accepted();
  if (role_ == Role::kServer || !peer_parameters_) return {};
  if (early_data_started_ && !early_data_accepted_)
    connection_->establishment().reject_early_data(now);
  established_ = true;
  TransportStatus status = connection_->establishment().establish(seed(), now);
  connection_->establishment().set_carried(first_datagrams_.carried(), now);
  return status;
}

void ConnectionDriver::fail(const TransportError& error, Time now) {
  if (established_) {
    connection_->close_with_error(error, now);
  } else {
    handshake_->close(error.code, error.reason, now);
  }
}

// --- events -------------------------------------------------------------------------------------

std::optional<Event> ConnectionDriver::poll_event(Time now) {
  if (!events_.empty()) {
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  std::optional<Event> event = connection_->poll_event();
  if (event) on_connection_event(*event, now);
  return event;
}

void ConnectionDriver::on_connection_event(const Event& event, Time now) {
  if (const auto* left = std::get_if<BackendLeftEvent>(&event)) {
    primary_exchange_->on_backend_left(*left, now);
  }
  if (std::holds_alternative<HandshakeConfirmedEvent>(event) && role_ == Role::kServer &&
      multi_end_negotiated(*connection_)) {
    primary_exchange_ = std::make_unique<PrimaryExchange>(*connection_, now);
  }
  if (role_ != Role::kClient || !handshake_) return;
  if (std::holds_alternative<HandshakeConfirmedEvent>(event)) {
    handshake_->release_connection();
  } else if (std::holds_alternative<PostHandshakeCryptoEvent>(event)) {
    const TransportStatus status =
        handshake_->receive_post_handshake(connection_->establishment().read_crypto());
    if (!status) return connection_->close_with_error(status.error(), now);
    process_handshake(now);
  } else if (std::holds_alternative<NewTokenEvent>(event)) {
    const Bytes token = connection_->establishment().address_token();
    session_.token.assign(token.begin(), token.end());
    if (!session_.tls_session.empty()) events_.push_back(SessionTicketEvent{});
  }
}

void ConnectionDriver::close(std::uint64_t application_error, std::string_view reason, Time now) {
  if (established_) {
    connection_->close(application_error, reason, now);
  } else if (handshake_) {
    // RFC 9000 §10.2.3: the state of the application must not be revealed before the handshake is
    // complete.
    handshake_->close(TransportErrorCode::kApplicationError, "", now);
    process_handshake(now);
  }
}

void ConnectionDriver::forget() {
  connection_->abandon({.cause = ConnectionClosed::Cause::kLocalApplication,
                        .error = 0,
                        .frame_type = 0,
                        .reason = "the primary abandoned the path"});
}

bool ConnectionDriver::finished() const {
  return connection_->state() == Connection::State::kClosed;
}

}  // namespace sheaf::quic
