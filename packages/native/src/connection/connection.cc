#include "connection/connection.h"

#include <algorithm>

#include "connection/frame_outcome.h"
#include "connection/packet_builder.h"
#include "connection/packet_receiver.h"
#include "connection/parts.h"

namespace sheaf::quic {

Connection::Connection(Role role, const ConnectionConfig& config, Random& random, Time now)
    : parts_(std::make_unique<Parts>(role, config, random, now)) {}

Connection::~Connection() = default;

TransportParameters Connection::local_parameters() const {
  const ConnectionConfig& config = parts_->config;
  TransportParameters parameters;
  parameters.max_idle_timeout = config.max_idle_timeout;
  parameters.max_udp_payload_size = 65527;
  parameters.ack_delay_exponent = config.ack_delay_exponent;
  parameters.max_ack_delay = config.max_ack_delay;
  parameters.disable_active_migration = config.disable_active_migration;
  parameters.active_connection_id_limit = config.active_connection_id_limit;
  parameters.max_datagram_frame_size = config.max_datagram_frame_size;
  parameters.grease_quic_bit = true;
  parts_->streams.fill_local_parameters(parameters);
  return parameters;
}

// --- establishment ------------------------------------------------------------------------------

TransportStatus Connection::start_early(const TrafficSecret& secret, const ConnectionSeed& seed,
                                        Time now) {
  Parts& parts = *parts_;
  parts.early_keys.emplace(secret, parts.config.crypto);
  parts.make_path(seed, now);
  parts.remote_ids.set_initial(seed.remote_id);
  parts.peer_parameters = seed.peer_parameters;
  return parts.streams.set_peer_parameters(seed.peer_parameters);
}

void Connection::reject_early_data(Time now) {
  Parts& parts = *parts_;
  parts.early_keys.reset();
  if (parts.early_packets_sent) {
    FrameOutcome outcome(parts, now);
    parts.path->loss.abandon_outstanding(outcome);
  }
  // Also when nothing was sent: the real limits may be below the remembered ones now.
  parts.streams.restart_sending();
}

TransportStatus Connection::establish(const ConnectionSeed& seed, Time now) {
  Parts& parts = *parts_;
  if (!parts.path) parts.make_path(seed, now);
  if (seed.address_validated) parts.path->amplification.validate();
  set_initial_rtt(seed.initial_rtt);
  parts.remote_ids.set_initial(seed.remote_id);
  if (seed.peer_parameters.stateless_reset_token) {
    parts.remote_ids.set_initial_token(*seed.peer_parameters.stateless_reset_token);
  }
  parts.peer_parameters = seed.peer_parameters;
  parts.idle.set_peer_timeout(seed.peer_parameters.max_idle_timeout);
  TransportStatus status = parts.streams.set_peer_parameters(seed.peer_parameters);
  if (!status) return status;
  if (seed.send_secret) parts.keys.install_send_secret(*seed.send_secret);
  if (seed.receive_secret) parts.keys.install_receive_secret(*seed.receive_secret);
  parts.local_ids.issue(seed.peer_parameters.active_connection_id_limit, parts.random);
  parts.established = true;
  parts.events.push_back(EstablishedEvent{});
  return {};
}

void Connection::install_receive_secret(const TrafficSecret& secret, Time now) {
  parts_->keys.install_receive_secret(secret);
  std::vector<Parts::Held> held = std::move(parts_->held);
  parts_->held.clear();
  for (Parts::Held& packet : held) receive({packet.bytes, packet.path, packet.ecn, true}, now);
}

void Connection::confirm_handshake(Bytes post_handshake_messages, Time now) {
  Parts& parts = *parts_;
  parts.handshake_confirmed = true;
  parts.handshake_done_due = true;
  parts.keys.confirm_handshake();
  // RFC 9001 §4.9.3: the client has 1-RTT keys now, and repeats in 1-RTT what comes too late.
  parts.early_keys.reset();
  parts.crypto.write(post_handshake_messages);
  parts.path->amplification.validate();
  parts.path->update_pacing(now);
  parts.events.push_back(HandshakeConfirmedEvent{});
}

void Connection::set_initial_rtt(Duration rtt) {
  if (rtt > Duration::zero()) parts_->path->rtt.set_initial(rtt);
}

void Connection::count_handshake_bytes(std::uint64_t received, std::uint64_t sent) {
  parts_->path->amplification.on_received(received);
  parts_->path->amplification.on_sent(sent);
}

std::uint64_t Connection::amplification_allowance() const {
  return parts_->path->amplification.allowance();
}

void Connection::validate_address() { parts_->path->amplification.validate(); }

void Connection::send_new_token(Bytes token) {
  parts_->new_token.assign(token.begin(), token.end());
  parts_->new_token_due = true;
}

// --- sans-IO ------------------------------------------------------------------------------------

void Connection::receive(const Datagram& datagram, Time now) {
  if (!parts_->path) return parts_->drop(DropReason::kNoKeys, datagram.payload.size(), now);
  PacketReceiver(*parts_, now).receive(datagram);
}

void Connection::poll_transmit(TransmitBatch& batch, Time now) {
  batch.size = 0;
  batch.segment_size = 0;
  if (parts_->path) PacketBuilder(*parts_, now).build(batch);
}

Time Connection::next_timeout() const {
  const Parts& parts = *parts_;
  if (parts.close.phase() != CloseState::Phase::kOpen) return parts.close.deadline();
  Time next = std::min(parts.idle.deadline(parts.probe_timeout()),
                       parts.established ? parts.idle.keep_alive_deadline() : k_never);
  if (!parts.path) return next;
  const Path& path = *parts.path;
  next = std::min({next, parts.pacing_deadline, path.validation.next_timeout(),
                   path.loss.next_timeout(parts.timer_terms(path))});
  // What may not leave is nothing to wake up for: the datagram that raises the allowance does.
  if (parts.keys.can_send() && path.amplification.may_send()) {
    next = std::min(next, path.received.ack_deadline());
  }
  return next;
}

void Connection::on_timeout(Time now) {
  Parts& parts = *parts_;
  if (parts.close.phase() != CloseState::Phase::kOpen) return parts.close.on_timeout(now);
  if (now >= parts.idle.deadline(parts.probe_timeout())) {
    return parts.close.finish({.cause = ConnectionClosed::Cause::kIdle, .reason = "idle timeout"});
  }
  if (!parts.path) return;
  Path& path = *parts.path;
  if (parts.established && now >= parts.idle.keep_alive_deadline()) {
    parts.idle.on_keep_alive(now);
    path.ping_due = true;
  }
  if (now >= path.validation.next_timeout()) {
    path.validation.on_timeout(now);
    if (path.validation.state() == PathValidation::State::kFailed && !path.revert(now)) {
      // RFC 9000 §9.3.2: without an address that works the connection ends silently.
      return parts.close.finish(
          {.cause = ConnectionClosed::Cause::kLocalError,
           .error = static_cast<std::uint64_t>(TransportErrorCode::kNoViablePath),
           .reason = "path validation failed"});
    }
  }
  FrameOutcome outcome(parts, now);
  const auto action = path.loss.on_timeout(parts.timer_terms(path), now, outcome);
  if (action == LossDetection::TimeoutAction::kProbe) {
    // RFC 9002 §6.2.4: two packets, with data where there is some.
    path.probe_credits = 2;
    path.loss.mark_oldest_for_probe(outcome);
    path.ping_due = true;
  }
  if (action != LossDetection::TimeoutAction::kNone) path.update_pacing(now);
}

std::optional<Event> Connection::poll_event() {
  Parts& parts = *parts_;
  if (!parts.events.empty()) {
    Event event = std::move(parts.events.front());
    parts.events.pop_front();
    return event;
  }
  if (auto stream_event = parts.streams.poll_event()) return *stream_event;
  if (parts.close.phase() != CloseState::Phase::kOpen && !parts.closed_event_given) {
    parts.closed_event_given = true;
    if (parts.log) parts.log->closed(parts.close.closed());
    return parts.close.closed();
  }
  return std::nullopt;
}

// --- streams ------------------------------------------------------------------------------------

Result<StreamId, StreamRefusal> Connection::open_stream(Directionality directionality) {
  return parts_->streams.open(directionality);
}

std::uint64_t Connection::streams_available(Directionality directionality) const {
  return parts_->streams.streams_available(directionality);
}

Result<bool, StreamRefusal> Connection::write(StreamId stream, SendChunk chunk, bool fin) {
  return parts_->streams.write(stream, std::move(chunk), fin);
}

Result<ReadResult, StreamRefusal> Connection::read(StreamId stream, MutableBytes out, Time now) {
  return parts_->streams.read(stream, out, now);
}

Bytes Connection::peek(StreamId stream) const { return parts_->streams.peek(stream); }

Result<ReadResult, StreamRefusal> Connection::consume(StreamId stream, std::size_t bytes,
                                                      Time now) {
  return parts_->streams.consume(stream, bytes, now);
}

Status<StreamRefusal> Connection::reset_stream(StreamId stream, std::uint64_t error) {
  return parts_->streams.reset(stream, error);
}

Status<StreamRefusal> Connection::stop_sending(StreamId stream, std::uint64_t error) {
  return parts_->streams.stop_sending(stream, error);
}

void Connection::set_priority(StreamId stream, const StreamPriority& priority) {
  parts_->streams.set_priority(stream, priority);
}

std::uint64_t Connection::unsent_bytes(StreamId stream) const {
  return parts_->streams.unsent_bytes(stream);
}

bool Connection::received_early(StreamId stream) const {
  return stream.initiator() == peer_of(parts_->role) &&
         stream.directionality() == Directionality::kBidirectional &&
         stream.index() < parts_->early_streams;
}

// --- datagrams ----------------------------------------------------------------------------------

std::size_t Connection::max_datagram_payload() const {
  const std::uint64_t peer_limit = parts_->peer_parameters.max_datagram_frame_size;
  if (!parts_->path || peer_limit == 0) return 0;
  // Header with the longest packet number, tag, frame type and a length of two bytes.
  const std::size_t overhead =
      1 + parts_->remote_ids.current().length + 4 + k_aead_tag_length + 1 + 2;
  const std::size_t room = parts_->path->mtu.current() - overhead;
  return std::min<std::uint64_t>(room, peer_limit > 3 ? peer_limit - 3 : 0);
}

bool Connection::send_datagram(Bytes payload, std::uint64_t identifier) {
  return payload.size() <= max_datagram_payload() && parts_->datagrams.send(payload, identifier);
}

std::optional<std::vector<std::uint8_t>> Connection::receive_datagram() {
  return parts_->datagrams.read();
}

// --- life ---------------------------------------------------------------------------------------

Connection::State Connection::state() const {
  switch (parts_->close.phase()) {
    case CloseState::Phase::kOpen:
      return parts_->established ? State::kEstablished : State::kHandshaking;
    case CloseState::Phase::kClosing:
      return State::kClosing;
    case CloseState::Phase::kDraining:
      return State::kDraining;
    case CloseState::Phase::kClosed:
      break;
  }
  return State::kClosed;
}

const ConnectionClosed* Connection::closed() const {
  return parts_->close.phase() == CloseState::Phase::kOpen ? nullptr : &parts_->close.closed();
}

void Connection::close(std::uint64_t application_error, std::string_view reason, Time now) {
  parts_->start_closing({.cause = ConnectionClosed::Cause::kLocalApplication,
                         .error = application_error,
                         .reason = std::string(reason)},
                        now);
}

void Connection::abandon(const ConnectionClosed& closed) { parts_->close.finish(closed); }

void Connection::close_with_error(const TransportError& error, Time now) {
  parts_->fail(error, now);
}

bool Connection::migrate(const Address& local, Time now) {
  Parts& parts = *parts_;
  // RFC 9000 §9: after the handshake, if the peer allows it, with an id that was not seen
  // elsewhere.
  if (parts.role != Role::kClient || !parts.handshake_confirmed ||
      parts.peer_parameters.disable_active_migration || !parts.remote_ids.rotate()) {
    return false;
  }
  parts.path->migrate({local, parts.path->addresses.remote}, now, parts.probe_timeout());
  // The server's address is known to be its own; the limit protects strangers (RFC 9000 §9.3).
  parts.path->amplification.validate();
  parts.path->ping_due = true;
  parts.events.push_back(PathChangedEvent{parts.path->id});
  return true;
}

bool Connection::rotate_connection_id() { return parts_->remote_ids.rotate(); }

bool Connection::initiate_key_update(Time now) {
  if (!parts_->keys.initiate_update(now, parts_->probe_timeout())) return false;
  // Something must be sent for the update to be seen.
  parts_->path->ping_due = true;
  return true;
}

void Connection::ping() {
  if (parts_->path) parts_->path->ping_due = true;
}

void Connection::set_event_log(EventLog* log) { parts_->log = log; }

std::optional<Connection::IdChange> Connection::poll_id_change() {
  const auto change = parts_->local_ids.poll_change();
  if (!change) return std::nullopt;
  return IdChange{change->id, change->added};
}

void Connection::set_reset_key(Bytes key) { parts_->local_ids.set_reset_key(key); }

bool Connection::is_stateless_reset(Bytes datagram) const {
  return datagram.size() >= sizeof(StatelessResetToken) &&
         parts_->remote_ids.is_reset_token(datagram.last(sizeof(StatelessResetToken)));
}

Bytes Connection::address_token() const { return parts_->address_token; }
std::vector<std::uint8_t> Connection::read_crypto() { return parts_->crypto.read(); }
Role Connection::role() const { return parts_->role; }
const TransportParameters& Connection::peer_parameters() const { return parts_->peer_parameters; }

ConnectionStats Connection::stats() const {
  ConnectionStats stats = parts_->stats;
  stats.datagrams_sent = parts_->datagrams.sent_count();
  stats.datagrams_received = parts_->datagrams.received_count();
  stats.key_updates = parts_->keys.updates();
  stats.streams_total = parts_->streams.streams_total();
  stats.streams_open = parts_->streams.open_streams();
  return stats;
}

std::vector<PathStats> Connection::path_stats() const {
  if (!parts_->path) return {};
  return {parts_->path_stats()};
}

}  // namespace sheaf::quic
