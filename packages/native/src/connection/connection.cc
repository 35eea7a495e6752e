#include "connection/connection.h"

#include <algorithm>
#include <utility>

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
    : parts_(std::make_unique<ConnectionParts>(role, config, random, now)),
      establishment_(*parts_),
      streams_(*parts_),
      datagrams_(*parts_),
      paths_(*parts_),
      routing_(*parts_),
      extension_(*parts_) {}

Connection::~Connection() = default;

TransportParameters Connection::local_parameters() const {
  TransportParameters parameters = quic::local_parameters(parts_->config);
  parts_->streams.fill_local_parameters(parameters);
  return parameters;
}

// --- sans-IO ------------------------------------------------------------------------------------

void Connection::receive(const Datagram& datagram, Time now) {
  PacketReceiver(*parts_, now).receive(datagram);
}

void Connection::end_batch(Time now) {
  const auto open = [](const PathEntry* entry) { return entry->path->batch_open; };
  if (std::ranges::any_of(parts_->paths.in_use(), open)) conclude_batch(now);
}

void Connection::conclude_batch(Time now) {
  ConnectionParts& parts = *parts_;
  FrameOutcome outcome(parts, now);
  for (PathEntry* entry : parts.paths.in_use()) {
    Path& path = *entry->path;
    if (!std::exchange(path.batch_open, false)) continue;
    path.loss.conclude(now, outcome);
    path.update_pacing(now);
    if (parts.log) parts.log->metrics_updated(now, parts.path_stats(*entry));
  }
  parts.update_stream_rtt();
  parts.update_ack_requests();
}

void Connection::poll_transmit(TransmitBatch& batch, Time now) {
  end_batch(now);
  batch.size = 0;
  batch.segment_size = 0;
  ConnectionParts& parts = *parts_;
  parts.reset_pacing_deadline();
  if (parts.runs) return transmit_beside_runs(batch, now);
  transmit_packets(batch, now);
}

// Delays this node's own packets, so that they do not overtake those that other nodes send. They
// have their numbers already.
void Connection::transmit_beside_runs(TransmitBatch& batch, Time now) {
  const Runs& runs = *parts_->runs;
  DelayedBatches& delayed = parts_->runs->delayed();
  while (true) {
    const CloseState::Phase phase = parts_->close.phase();
    const bool open = phase == CloseState::Phase::kOpen;
    // RFC 9000 §10.2.2: a draining connection sends nothing but one answer.
    if (!open && phase != CloseState::Phase::kClosing) delayed.clear();
    if (!delayed.empty() && (!open || delayed.next_due() <= now)) return delayed.release(batch);
    transmit_packets(batch, now);
    const bool at_once = delayed.empty() && runs.own_wait() == Duration::zero();
    if (batch.size == 0 || !open || at_once) return;
    delayed.hold(batch, now + runs.own_wait());
  }
}

void Connection::transmit_packets(TransmitBatch& batch, Time now) {
  ConnectionParts& parts = *parts_;
  if (parts.close.phase() == CloseState::Phase::kClosing) {
    transmit_last_words(batch, now);
    if (batch.size == 0) transmit_close(batch, now);
    return;
  }
  if (parts.close.phase() != CloseState::Phase::kOpen) return transmit_answer(batch, now);
  // Each path sends a batch in turn, so that none waits until another is full.
  const auto& entries = parts.paths.in_use();
  for (std::size_t i = 0; i < entries.size() && batch.size == 0; ++i) {
    PathEntry& entry = *entries[(turns_.packets + i) % entries.size()];
    if (entry.usable()) PacketBuilder(parts, entry, now).build(batch);
  }
  ++turns_.packets;
  // Building may have found that the keys are used up.
  if (parts.close.phase() == CloseState::Phase::kClosing) transmit_close(batch, now);
}

// Sends first what the application wrote before it closed, as far as a batch on each path carries
// it: a session's last capsule comes before the end of its connection. Closing begins when
// CONNECTION_CLOSE is sent (RFC 9000 §10.2.1).
void Connection::transmit_last_words(TransmitBatch& batch, Time now) {
  ConnectionParts& parts = *parts_;
  const auto& entries = parts.paths.in_use();
  while (parts.close.last_words_due() && batch.size == 0) {
    if (turns_.last_words == entries.size()) return parts.close.last_words_sent();
    PathEntry& entry = *entries[turns_.last_words++];
    if (entry.usable()) PacketBuilder(parts, entry, now).build_last_words(batch);
  }
}

// Sends CONNECTION_CLOSE on every path, since the peer may not hear the others.
void Connection::transmit_close(TransmitBatch& batch, Time now) {
  ConnectionParts& parts = *parts_;
  const auto& entries = parts.paths.in_use();
  const bool any_open = parts.paths.open_count() > 0;
  while (parts.close.frame_due() && batch.size == 0) {
    if (turns_.close == entries.size()) {
      parts.close.frame_sent();
      turns_.close = 0;
      return;
    }
    PathEntry& entry = *entries[turns_.close++];
    const bool last = !any_open && entry.abandonment && entry.abandonment->frame_due;
    if (entry.remote_ids.assigned() && (entry.open() || last)) {
      PacketBuilder(parts, entry, now).build_close(batch);
    }
  }
}

// Answers the peer's CONNECTION_CLOSE by a single packet, on the path that it came on.
void Connection::transmit_answer(TransmitBatch& batch, Time now) {
  ConnectionParts& parts = *parts_;
  if (!parts.close.frame_due()) return;
  parts.close.frame_sent();
  PathEntry* entry = parts.paths.find(parts.close.answer_path());
  if (entry && entry->open() && entry->remote_ids.assigned()) {
    PacketBuilder(parts, *entry, now).build_close(batch);
  }
}

Time Connection::next_timeout() const {
  const ConnectionParts& parts = *parts_;
  if (parts.close.phase() != CloseState::Phase::kOpen) return parts.close.deadline();
  Time next = std::min(parts.idle.deadline(parts.probe_timeout()),
                       parts.handshake.established() ? parts.idle.keep_alive_deadline() : k_never);
  next = std::min({next, parts.pacing_deadline(), PathManagement::next_timeout(parts)});
  if (parts.policy) next = std::min(next, parts.policy->next_timeout());
  if (parts.runs) next = std::min(next, parts.runs->delayed().next_due());
  for (PathEntry* entry : parts.paths.in_use()) {
    const Path& path = *entry->path;
    if (path.batch_open) return Time{};
    if (!entry->abandonment) {
      next = std::min({next, path.loss.next_timeout(parts.timer_terms(*entry)),
                       AddressChange::next_timeout(*entry)});
    }
    if (PathSelection::acknowledgement_can_leave(parts, *entry)) {
      next = std::min(next, path.received.ack_deadline());
    }
  }
  return next;
}

void Connection::on_timeout(Time now) {
  end_batch(now);
  ConnectionParts& parts = *parts_;
  if (parts.close.phase() != CloseState::Phase::kOpen) return parts.close.on_timeout(now);
  if (now >= parts.idle.deadline(parts.probe_timeout())) {
    return parts.close.finish({.cause = ConnectionClosed::Cause::kIdle, .reason = "idle timeout"});
  }
  if (parts.handshake.established() && now >= parts.idle.keep_alive_deadline()) {
    ping(now);
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
  ConnectionParts& parts = *parts_;
  if (!parts.events.empty()) {
    Event event = std::move(parts.events.front());
    parts.events.pop_front();
    return event;
  }
  if (auto stream_event = parts.streams.poll_event()) return *stream_event;
  // The application may read data that arrived before the peer's close. It is told of the close
  // when it has read all, or when the connection is gone.
  const bool reads_on =
      parts.close.phase() == CloseState::Phase::kDraining && parts.streams.reader().unread();
  if (parts.close.phase() != CloseState::Phase::kOpen && !closed_event_given_ && !reads_on) {
    closed_event_given_ = true;
    if (parts.log) parts.log->closed(parts.close.closed());
    return parts.close.closed();
  }
  return std::nullopt;
}

bool Connection::has_events() const {
  return !parts_->events.empty() ||
         (parts_->close.phase() != CloseState::Phase::kOpen && !closed_event_given_);
}

// --- life ---------------------------------------------------------------------------------------

Connection::State Connection::state() const {
  switch (parts_->close.phase()) {
    case CloseState::Phase::kOpen:
      return parts_->handshake.established() ? State::kEstablished : State::kHandshaking;
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

bool Connection::initiate_key_update(Time now) {
  bool updated = false;
  if (!parts_->may_update_keys()) return false;
  for (PathEntry* entry : parts_->paths.in_use()) {
    if (entry->usable()) updated |= parts_->update_keys(*entry, now);
  }
  if (parts_->policy) updated |= parts_->policy->update_keys(now);
  return updated;
}

void Connection::ping(Time now) {
  parts_->idle.on_ping(now);
  parts_->ping_all();
}

void Connection::set_event_log(EventLog* log) { parts_->log = log; }

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

}  // namespace sheaf::quic
