#include "connection/connection.h"

#include <algorithm>

#include "connection/address_change.h"
#include "connection/frame_outcome.h"
#include "connection/local_parameters.h"
#include "connection/packet_builder.h"
#include "connection/packet_receiver.h"
#include "connection/parts.h"
#include "connection/path_management.h"
#include "connection/path_selection.h"
#include "connection/retransmission.h"

namespace sheaf::quic {

Connection::Connection(Role role, const ConnectionConfig& config, Random& random, Time now)
    : parts_(std::make_unique<Parts>(role, config, random, now)) {}

Connection::~Connection() = default;

TransportParameters Connection::local_parameters() const {
  TransportParameters parameters = quic::local_parameters(parts_->config);
  parts_->streams.fill_local_parameters(parameters);
  return parameters;
}

// --- establishment ------------------------------------------------------------------------------

TransportStatus Connection::start_early(const TrafficSecret& secret, const ConnectionSeed& seed,
                                        Time now) {
  Parts& parts = *parts_;
  parts.early_keys.emplace(secret, parts.config.crypto);
  parts.make_first_path(seed, now);
  parts.first_entry().remote_ids.set_initial(seed.remote_id);
  parts.peer_parameters = seed.peer_parameters;
  return parts.streams.set_peer_parameters(seed.peer_parameters);
}

void Connection::reject_early_data(Time now) {
  Parts& parts = *parts_;
  parts.early_keys.reset();
  if (parts.early_packets_sent) {
    FrameOutcome outcome(parts, now);
    parts.first_path()->loss.abandon_outstanding(outcome);
  }
  // Also when nothing was sent: the real limits may be below the remembered ones now.
  parts.streams.restart_sending();
}

TransportStatus Connection::establish(const ConnectionSeed& seed, Time now) {
  Parts& parts = *parts_;
  if (!parts.first_path()) parts.make_first_path(seed, now);
  if (seed.address_validated) parts.first_path()->amplification.validate();
  set_initial_rtt(seed.initial_rtt);
  RemoteConnectionIds& remote_ids = parts.first_entry().remote_ids;
  remote_ids.set_initial(seed.remote_id);
  if (seed.peer_parameters.stateless_reset_token) {
    remote_ids.set_initial_token(*seed.peer_parameters.stateless_reset_token);
  }
  if (const auto& preferred = seed.peer_parameters.preferred_address) {
    if (seed.remote_id.length == 0) {
      return TransportError{TransportErrorCode::kTransportParameterError, 0,
                            "preferred_address with a connection id of length zero"};
    }
    // RFC 9000 §5.1.1: its id has the sequence number 1.
    TransportStatus given = remote_ids.on_new({.sequence = 1,
                                               .retire_prior_to = 0,
                                               .id = preferred->id,
                                               .reset_token = preferred->reset_token});
    if (!given) return given;
  }
  parts.peer_parameters = seed.peer_parameters;
  parts.idle.set_peer_timeout(seed.peer_parameters.max_idle_timeout);
  TransportStatus status = parts.streams.set_peer_parameters(seed.peer_parameters);
  PathManagement management(parts, now);
  if (status) status = management.enable(seed.peer_parameters);
  if (!status) return status;
  if (seed.send_secret) parts.keys.install_send_secret(*seed.send_secret);
  if (seed.receive_secret) parts.keys.install_receive_secret(*seed.receive_secret);
  // The client knows the handshake to be complete, and so does a server that reads its 1-RTT
  // packets.
  if (parts.role == Role::kClient) management.issue_connection_ids();
  parts.established = true;
  parts.events.push_back(EstablishedEvent{});
  return {};
}

void Connection::install_receive_secret(const TrafficSecret& secret, Time now) {
  parts_->keys.install_receive_secret(secret);
  for (HeldPackets::Held& packet : parts_->held.take()) {
    receive({packet.bytes, packet.path, packet.ecn, true}, now);
  }
}

void Connection::confirm_handshake(Bytes post_handshake_messages, Time now) {
  Parts& parts = *parts_;
  parts.handshake_confirmed = true;
  parts.handshake_done_due = true;
  parts.keys.confirm_handshake();
  // RFC 9001 §4.9.3: the client has 1-RTT keys now, and repeats in 1-RTT what comes too late.
  parts.early_keys.reset();
  // RFC 9000 §5.1: a peer may use any id at once, in Initial and Handshake packets too. Those
  // belong to the handshake, which knows the first id alone.
  PathManagement(parts, now).issue_connection_ids();
  parts.crypto.write(post_handshake_messages);
  parts.first_path()->amplification.validate();
  parts.first_path()->update_pacing(now);
  parts.events.push_back(HandshakeConfirmedEvent{});
}

void Connection::set_initial_rtt(Duration rtt) {
  if (rtt > Duration::zero()) parts_->first_path()->rtt.set_initial(rtt);
}

void Connection::count_handshake_bytes(std::uint64_t received, std::uint64_t sent) {
  parts_->first_path()->amplification.on_received(received);
  parts_->first_path()->amplification.on_sent(sent);
}

std::uint64_t Connection::amplification_allowance() const {
  return parts_->first_path()->amplification.allowance();
}

void Connection::validate_address() { parts_->first_path()->amplification.validate(); }

void Connection::send_new_token(Bytes token) {
  parts_->new_token.assign(token.begin(), token.end());
  parts_->new_token_due = true;
}

// --- sans-IO ------------------------------------------------------------------------------------

void Connection::receive(const Datagram& datagram, Time now) {
  if (!parts_->early_keys && !parts_->established) {
    return parts_->drop(DropReason::kNoKeys, datagram.payload.size(), now);
  }
  PacketReceiver(*parts_, now).receive(datagram);
}

void Connection::poll_transmit(TransmitBatch& batch, Time now) {
  batch.size = 0;
  batch.segment_size = 0;
  Parts& parts = *parts_;
  parts.pacing_deadline = k_never;
  if (parts.close.phase() == CloseState::Phase::kClosing) {
    transmit_last_words(batch, now);
    if (batch.size == 0) transmit_close(batch, now);
    return;
  }
  if (parts.close.phase() != CloseState::Phase::kOpen) return transmit_answer(batch, now);
  // A batch each in turn, so that no path waits for another to be full.
  const auto& entries = parts.paths.in_use();
  for (std::size_t i = 0; i < entries.size() && batch.size == 0; ++i) {
    PathEntry& entry = *entries[(parts.turns.packets + i) % entries.size()];
    if (entry.usable()) PacketBuilder(parts, entry, now).build(batch);
  }
  ++parts.turns.packets;
  // Building may have found that the keys are used up.
  if (parts.close.phase() == CloseState::Phase::kClosing) transmit_close(batch, now);
}

// What the application wrote before it closed goes first, as far as a batch on each path carries
// it: a session's last capsule comes before the end of its connection. RFC 9000 §10.2.1: closing
// begins when CONNECTION_CLOSE is sent.
void Connection::transmit_last_words(TransmitBatch& batch, Time now) {
  Parts& parts = *parts_;
  const auto& entries = parts.paths.in_use();
  while (parts.close.last_words_due() && batch.size == 0) {
    if (parts.turns.last_words == entries.size()) return parts.close.last_words_sent();
    PathEntry& entry = *entries[parts.turns.last_words++];
    if (entry.usable()) PacketBuilder(parts, entry, now).build_last_words(batch);
  }
}

// On every path, since the peer may not hear the others.
void Connection::transmit_close(TransmitBatch& batch, Time now) {
  Parts& parts = *parts_;
  const auto& entries = parts.paths.in_use();
  const bool any_open = parts.paths.open_count() > 0;
  while (parts.close.frame_due() && batch.size == 0) {
    if (parts.turns.close == entries.size()) {
      parts.close.frame_sent();
      parts.turns.close = 0;
      return;
    }
    PathEntry& entry = *entries[parts.turns.close++];
    const bool last = !any_open && entry.abandonment && entry.abandonment->frame_due;
    if (entry.remote_ids.assigned() && (entry.open() || last)) {
      PacketBuilder(parts, entry, now).build_close(batch);
    }
  }
}

// To the peer's CONNECTION_CLOSE: a single packet, on one path.
void Connection::transmit_answer(TransmitBatch& batch, Time now) {
  Parts& parts = *parts_;
  if (!parts.close.frame_due()) return;
  parts.close.frame_sent();
  for (PathEntry* entry : parts.paths.in_use()) {
    if (batch.size > 0) return;
    if (entry->open() && entry->remote_ids.assigned()) {
      PacketBuilder(parts, *entry, now).build_close(batch);
    }
  }
}

Time Connection::next_timeout() const {
  const Parts& parts = *parts_;
  if (parts.close.phase() != CloseState::Phase::kOpen) return parts.close.deadline();
  Time next = std::min(parts.idle.deadline(parts.probe_timeout()),
                       parts.established ? parts.idle.keep_alive_deadline() : k_never);
  next = std::min({next, parts.pacing_deadline, PathManagement::next_timeout(parts)});
  if (parts.policy) next = std::min(next, parts.policy->next_timeout());
  for (PathEntry* entry : parts.paths.in_use()) {
    const Path& path = *entry->path;
    if (!entry->abandonment) {
      next = std::min({next, path.loss.next_timeout(parts.timer_terms(path)),
                       AddressChange::next_timeout(*entry)});
    }
    if (PathSelection::acknowledgement_can_leave(parts, *entry)) {
      next = std::min(next, path.received.ack_deadline());
    }
  }
  return next;
}

void Connection::on_timeout(Time now) {
  Parts& parts = *parts_;
  if (parts.close.phase() != CloseState::Phase::kOpen) return parts.close.on_timeout(now);
  if (now >= parts.idle.deadline(parts.probe_timeout())) {
    return parts.close.finish({.cause = ConnectionClosed::Cause::kIdle, .reason = "idle timeout"});
  }
  if (parts.established && now >= parts.idle.keep_alive_deadline()) {
    parts.idle.on_keep_alive(now);
    ping();
  }
  PathManagement(parts, now).on_timeout();
  if (parts.policy) parts.policy->on_timeout(now);
  Retransmission retransmission(parts, now);
  for (PathEntry* entry : parts.paths.in_use()) {
    if (!entry->open()) continue;
    AddressChange(parts, now).on_timeout(*entry);
    retransmission.on_timeout(*entry);
  }
}

std::optional<Event> Connection::poll_event() {
  Parts& parts = *parts_;
  if (!parts.events.empty()) {
    Event event = std::move(parts.events.front());
    parts.events.pop_front();
    return event;
  }
  if (auto stream_event = parts.streams.poll_event()) return *stream_event;
  // What arrived before the peer's close is the application's, who is told when it has read it, or
  // when the connection is gone.
  const bool reads_on =
      parts.close.phase() == CloseState::Phase::kDraining && parts.streams.reader().unread();
  if (parts.close.phase() != CloseState::Phase::kOpen && !parts.closed_event_given && !reads_on) {
    parts.closed_event_given = true;
    if (parts.log) parts.log->closed(parts.close.closed());
    return parts.close.closed();
  }
  return std::nullopt;
}

// --- streams ------------------------------------------------------------------------------------

Result<StreamId, StreamRefusal> Connection::open_stream(Directionality directionality) {
  return parts_->streams.writer().open(directionality);
}

std::uint64_t Connection::streams_available(Directionality directionality) const {
  return parts_->streams.writer().streams_available(directionality);
}

Result<bool, StreamRefusal> Connection::write(StreamId stream, SendChunk chunk, bool fin) {
  return parts_->streams.writer().write(stream, std::move(chunk), fin);
}

Result<ReadResult, StreamRefusal> Connection::read(StreamId stream, MutableBytes out, Time now) {
  return parts_->streams.reader().read(stream, out, now);
}

std::uint64_t Connection::readable_bytes(StreamId stream) const {
  return parts_->streams.reader().readable_bytes(stream);
}
Bytes Connection::peek(StreamId stream) const { return parts_->streams.reader().peek(stream); }

Result<ReadResult, StreamRefusal> Connection::consume(StreamId stream, std::size_t bytes,
                                                      Time now) {
  return parts_->streams.reader().consume(stream, bytes, now);
}

Status<StreamRefusal> Connection::reset_stream(StreamId stream, std::uint64_t error) {
  return parts_->streams.writer().reset(stream, error);
}

void Connection::keep_reliable(StreamId stream, std::uint64_t bytes) {
  parts_->streams.writer().keep_reliable(stream, bytes);
}

Status<StreamRefusal> Connection::stop_sending(StreamId stream, std::uint64_t error) {
  return parts_->streams.reader().stop_sending(stream, error);
}

void Connection::set_priority(StreamId stream, const StreamPriority& priority) {
  parts_->streams.writer().set_priority(stream, priority);
}

void Connection::set_dependency(StreamId stream, const Dependency& dependency) {
  parts_->streams.writer().set_dependency(stream, dependency);
}

void Connection::set_group(const Dependency& group) { parts_->streams.writer().set_group(group); }

void Connection::set_expected_bytes(StreamId stream, std::uint64_t total) {
  parts_->streams.writer().set_expected_bytes(stream, total);
}

std::uint64_t Connection::reserve(StreamId stream) {
  return parts_->streams.writer().reserve(stream);
}

bool Connection::has_room_to_hold(std::uint64_t bytes) const {
  return parts_->streams.memory().has_room_to_hold(bytes);
}

bool Connection::has_room_to_wait() const { return parts_->streams.memory().has_room_to_wait(); }

void Connection::hold(std::uint64_t bytes) { parts_->streams.memory().hold(bytes); }

void Connection::release(std::uint64_t bytes) { parts_->streams.memory().release(bytes); }

void Connection::drop_streams() {
  parts_->streams.drop();
  // To the peer a critical stream that ends is a fault: it hears of the close alone.
  parts_->close.last_words_sent();
}

void Connection::set_memory(std::uint64_t bytes) { parts_->streams.memory().set_total(bytes); }

std::size_t Connection::memory_bytes() const { return parts_->streams.memory().used(); }

std::size_t Connection::open_bidirectional_streams() const {
  return parts_->streams.open_bidirectional_streams();
}

std::uint64_t Connection::unsent_bytes(StreamId stream) const {
  return parts_->streams.writer().unsent_bytes(stream);
}

bool Connection::received_early(StreamId stream) const {
  return stream.initiator() == peer_of(parts_->role) &&
         stream.directionality() == Directionality::kBidirectional &&
         stream.index() < parts_->early_streams;
}

// --- datagrams ----------------------------------------------------------------------------------

std::size_t Connection::max_datagram_payload() const {
  const std::uint64_t peer_limit = parts_->peer_parameters.max_datagram_frame_size;
  std::size_t room = SIZE_MAX;  // on any of the paths
  for (PathEntry* entry : parts_->paths.in_use()) {
    if (!entry->usable() || entry->rules.apart) continue;
    // Header with the longest packet number, tag, frame type and a length of two bytes.
    const std::size_t overhead =
        1 + entry->remote_ids.current().length + 4 + k_aead_tag_length + 1 + 2;
    // Nodes that proxy it may have no jumbo frames ahead of them, and paths may lose theirs.
    room = std::min(room, entry->path->mtu.ordinary() - overhead);
  }
  if (room == SIZE_MAX || peer_limit == 0) return 0;
  return std::min<std::uint64_t>(room, peer_limit > 3 ? peer_limit - 3 : 0);
}

bool Connection::send_datagram(Bytes payload, std::uint64_t identifier) {
  return payload.size() <= max_datagram_payload() && parts_->datagrams.send(payload, identifier);
}

std::optional<Bytes> Connection::receive_datagram() { return parts_->datagrams.read(); }

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

bool Connection::migrate(const Address& local, Time now, PathId id) {
  Parts& parts = *parts_;
  PathEntry* entry = parts.paths.find(id);
  // RFC 9000 §9: after the handshake, if the peer allows it.
  if (parts.role != Role::kClient || !parts.handshake_confirmed || !entry || !entry->usable() ||
      parts.peer_parameters.disable_active_migration ||
      entry->path->addresses.remote.family != local.family) {
    return false;
  }
  return AddressChange(parts, now).move(*entry, local);
}

std::vector<Address> Connection::local_addresses() const {
  std::vector<Address> addresses;
  for (const PathEntry* entry : parts_->paths.in_use()) {
    addresses.push_back(entry->path->addresses.local);
    if (entry->former) addresses.push_back(entry->former->addresses.local);
  }
  return addresses;
}

bool Connection::leaves_addresses() const {
  return std::ranges::any_of(parts_->paths.in_use(), [](const PathEntry* entry) {
    return entry->abandonment || entry->former;
  });
}

bool Connection::rotate_connection_id(PathId path) {
  PathEntry* entry = parts_->paths.find(path);
  return entry && entry->usable() && entry->remote_ids.rotate();
}

bool Connection::initiate_key_update(Time now) {
  bool updated = false;
  if (!parts_->may_update_keys()) return false;
  for (PathEntry* entry : parts_->paths.in_use()) {
    if (entry->usable()) updated |= parts_->update_keys(*entry, now);
  }
  return updated;
}

void Connection::ping() { parts_->ping_all(); }

// --- paths --------------------------------------------------------------------------------------

bool Connection::multipath() const { return parts_->paths.enabled(); }

Result<PathId, PathRefusal> Connection::open_path(const AddressPair& addresses, Time now) {
  return PathManagement(*parts_, now).open(addresses);
}

Status<PathRefusal> Connection::abandon_path(PathId path, std::uint64_t error, Time now) {
  return PathManagement(*parts_, now).abandon(path, error);
}

Status<PathRefusal> Connection::set_path_status(PathId path, PathStatus status, Time now) {
  return PathManagement(*parts_, now).set_status(path, status);
}

Status<PathRefusal> Connection::set_path_weight(PathId path, std::uint32_t weight) {
  PathEntry* entry = parts_->paths.find(path);
  if (!entry || !entry->open()) return PathRefusal::kUnknownPath;
  entry->weight = weight;
  return {};
}

Status<PathRefusal> Connection::pin_stream(StreamId stream, PathId path) {
  const PathEntry* entry = parts_->paths.find(path);
  if (!entry || !entry->open()) return PathRefusal::kUnknownPath;
  if (parts_->policy && !parts_->policy->takes_streams(*entry)) return PathRefusal::kForbidden;
  const auto pinned = parts_->streams.pinned().pin(stream, path, entry->rules.apart);
  if (pinned) return {};
  return pinned.error() == StreamRefusal::kElsewhere ? PathRefusal::kOtherServer
                                                     : PathRefusal::kUnknownStream;
}

Connection::Parts& Connection::parts() { return *parts_; }
const Connection::Parts& Connection::parts() const { return *parts_; }

void Connection::set_event_log(EventLog* log) { parts_->log = log; }

std::optional<Connection::IdChange> Connection::poll_id_change() {
  const auto change = parts_->paths.poll_change();
  if (!change) return std::nullopt;
  return IdChange{change->id, change->added};
}

void Connection::set_reset_key(Bytes key) { parts_->paths.set_reset_key(key); }

bool Connection::is_stateless_reset(Bytes datagram) const {
  return datagram.size() >= sizeof(StatelessResetToken) &&
         parts_->paths.is_reset_token(datagram.last(sizeof(StatelessResetToken)));
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
  std::vector<PathStats> stats;
  for (PathEntry* entry : parts_->paths.in_use()) {
    stats.push_back(parts_->path_stats(*entry));
  }
  return stats;
}

}  // namespace sheaf::quic
