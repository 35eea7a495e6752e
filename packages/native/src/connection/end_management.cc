#include "connection/end_management.h"

#include <algorithm>

#include "connection/path_management.h"
#include "recovery/write_frame.h"

namespace sheaf::quic {

namespace {

// The receiver of the frame adds its type.
TransportError violation(const char* reason) {
  return {TransportErrorCode::kProtocolViolation, 0, reason};
}

bool same_offer(const EndRecord& record, const EndOfferFrame& frame) {
  return record.offered && record.path == frame.path && record.address == frame.address;
}

}  // namespace

void EndManagement::enable(const TransportParameters& peer) {
  if (!parts_.paths.enabled() || !peer.multi_end) return;
  const std::uint64_t common = *peer.multi_end & parts_.config.multi_end & EndKeyModes::k_all;
  if (common == 0) return;
  parts_.ends = std::make_unique<EndTable>();
  // An end had better not know more than it needs.
  parts_.keys.set_mode(common & EndKeyModes::k_per_path ? KeyMode::kPerPath : KeyMode::kShared);
  parts_.paths.reserve_for_ends();
  parts_.streams.share();
}

// --- primary ------------------------------------------------------------------------------------

bool EndManagement::untouched(const PathEntry& entry) const {
  return EndTable::is_end_path(entry.id) && entry.id <= parts_.paths.common_maximum() &&
         !entry.path && !entry.abandonment && !entry.end;
}

bool EndManagement::free(const PathEntry& entry) const {
  return untouched(entry) && entry.remote_ids.has_unused() && entry.local_ids.active_count() > 0;
}

Connection::FreePaths EndManagement::free_paths() const {
  Connection::FreePaths count;
  if (!parts_.ends || !parts_.handshake_confirmed) return count;
  for (const auto& entry : parts_.paths.entries()) {
    count.soon += untouched(*entry);
    count.now += free(*entry);
  }
  return count;
}

Result<EndSeed, EndRefusal> EndManagement::hand_over(EndId end, const Address& address,
                                                     const StreamLease& wanted) {
  if (!parts_.ends || parts_.role != Role::kServer) return EndRefusal::kNotNegotiated;
  if (!parts_.handshake_confirmed) return EndRefusal::kNotReady;
  if (end.value > EndId::k_maximum) return EndRefusal::kUnknownEnd;
  const EndRecord* known = parts_.ends->find(end);
  if (known && (known->offered || known->drains)) return EndRefusal::kAlready;
  const auto found =
      std::ranges::find_if(parts_.paths.entries(), [&](const auto& entry) { return free(*entry); });
  if (found == parts_.paths.entries().end()) return EndRefusal::kNoPath;
  PathEntry* entry = found->get();
  auto keys = parts_.keys.hand_over(entry->id);
  if (!keys) return EndRefusal::kNotReady;

  EndSeed seed;
  seed.end = end;
  seed.keys = std::move(*keys);
  seed.local_ids = entry->local_ids.given();
  seed.remote_ids = entry->remote_ids.given();
  seed.peer_parameters = parts_.peer_parameters;
  seed.peer_parameters.initial_max_data = 0;
  seed.peer_parameters.initial_max_streams_bidi = 0;
  seed.peer_parameters.initial_max_streams_uni = 0;
  seed.lease = parts_.streams.lease_out(wanted);
  const ConnectionConfig& config = parts_.config;
  seed.initial_stream_window = config.streams.initial_stream_window;
  seed.max_connection_window = config.streams.max_connection_window;
  seed.max_bidirectional_streams = config.streams.max_bidirectional_streams;
  seed.active_connection_id_limit = config.active_connection_id_limit;
  seed.max_idle_timeout = parts_.idle.timeout();
  seed.max_ack_delay = config.max_ack_delay;
  seed.ack_delay_exponent = config.ack_delay_exponent;

  // From now on nothing is sent or received here on this path: with the same keys in use at two
  // places, no packet number may be used twice.
  entry->end = end;
  EndRecord& record = parts_.ends->find_or_add(end);
  record.path = entry->id;
  record.address = address;
  record.told = false;
  return seed;
}

Status<EndRefusal> EndManagement::offer(EndId end) {
  EndRecord* record = parts_.ends ? parts_.ends->find(end) : nullptr;
  if (!record) return EndRefusal::kUnknownEnd;
  const PathEntry* entry = parts_.paths.find(record->path);
  if (record->offered || !entry || entry->abandonment) return EndRefusal::kAlready;
  record->offered = record->told = record->frame_due = true;
  ++record->sequence;
  return {};
}

Status<EndRefusal> EndManagement::withdraw(EndId end, std::uint64_t reason) {
  EndRecord* record = parts_.ends ? parts_.ends->find(end) : nullptr;
  PathEntry* entry = record ? parts_.paths.find(record->path) : nullptr;
  if (!entry || entry->abandonment) return EndRefusal::kUnknownEnd;
  const bool gone = reason != k_end_drains;
  if (gone && !record->told) {
    PathManagement(parts_, now_)
        .abandon_end(
            *entry, static_cast<std::uint64_t>(TransportErrorCode::kApplicationAbandonPath), false);
    return {};
  }
  if (!record->offered && !(gone && record->drains)) return EndRefusal::kUnknownEnd;
  record->drains = !gone;
  record->offered = false;
  record->frame_due = true;
  record->reason = reason;
  ++record->sequence;
  return {};
}

void EndManagement::write_frames(Writer& writer, SentPackets& sent) {
  using Kind = SentFrame::Kind;
  for (EndRecord& record : parts_.ends->records()) {
    if (!record.frame_due) continue;
    const SentFrame log{.stream = record.end.value,
                        .offset = record.sequence,
                        .kind = record.offered ? Kind::kEndOffer : Kind::kEndWithdraw};
    const Frame frame =
        record.offered
            ? Frame{EndOfferFrame{record.end, record.sequence, record.path, record.address}}
            : Frame{EndWithdrawFrame{record.end, record.sequence, record.reason}};
    if (!write_frame(writer, sent, frame, log)) return;
    record.frame_due = false;
  }
}

void EndManagement::on_frame_lost(const SentFrame& frame) {
  EndRecord* record = parts_.ends->find({static_cast<std::uint32_t>(frame.stream)});
  // Only the newest is worth repeating.
  if (record && record->sequence == frame.offset) record->frame_due = true;
}

void EndManagement::on_abandoned(const PathEntry& entry) {
  EndRecord* record = parts_.ends->find(*entry.end);
  if (record && record->path == entry.id)
    record->offered = record->drains = record->frame_due = false;
  if (parts_.role == Role::kServer) {
    parts_.events.push_back(
        EndLeftEvent{*entry.end, entry.id, entry.abandonment->error, entry.end_use});
  }
}

TransportStatus EndManagement::on_frame(const EndAbandonFrame& frame) {
  if (parts_.role != Role::kServer) return violation("END_ABANDON from a server");
  if (!parts_.paths.permitted(frame.path) || !EndTable::is_end_path(frame.path)) {
    return violation("path id that is not one of ends");
  }
  if (PathEntry* entry = parts_.paths.find_or_add(frame.path); entry && !entry->abandonment) {
    entry->end_use = frame.use;
  }
  return PathManagement(parts_, now_).on_frame(PathAbandonFrame{frame.path, frame.error});
}

// --- client -------------------------------------------------------------------------------------

Result<PathId, EndRefusal> EndManagement::open(EndId end, const Address& local) {
  if (!parts_.ends || parts_.role != Role::kClient) return EndRefusal::kNotNegotiated;
  if (!parts_.handshake_confirmed) return EndRefusal::kNotReady;
  const EndRecord* record = parts_.ends->find(end);
  if (!record || !record->offered) return EndRefusal::kUnknownEnd;
  PathEntry* entry = parts_.paths.find(record->path);
  if (!entry || entry->path || entry->abandonment) return EndRefusal::kAlready;
  if (!entry->remote_ids.assign()) return EndRefusal::kNoPath;
  Path& path = parts_.make_path(*entry, {local, record->address});
  entry->end = end;
  entry->last_heard = now_;
  // The primary vouches for the address; it gets few packets before it answers.
  path.amplification.validate();
  path.validation.start(now_, RttEstimator{}.probe_timeout(Duration::zero()));
  return entry->id;
}

bool EndManagement::blame_for(const TransportError& error) {
  if (parts_.role != Role::kClient || error.code != TransportErrorCode::kFlowControlError ||
      !parts_.streams.exceeded()) {
    return false;
  }
  bool any = false;
  for (PathEntry* entry : parts_.paths.in_use()) {
    if (!entry->end || !entry->open()) continue;
    any = true;
    PathManagement(parts_, now_)
        .abandon_end(*entry, static_cast<std::uint64_t>(TransportErrorCode::kFlowControlError),
                     false);
  }
  if (any) parts_.streams.tolerate();
  return any;
}

bool EndManagement::withdrawn(const PathEntry& entry) const {
  const EndRecord* record = parts_.ends->find(*entry.end);
  return !record || !record->offered || record->path != entry.id;
}

TransportStatus EndManagement::on_frame(const EndOfferFrame& frame) {
  if (parts_.role != Role::kClient) return violation("END_OFFER from a client");
  if (!parts_.paths.permitted(frame.path) || !EndTable::is_end_path(frame.path)) {
    return violation("path id that is not one of ends");
  }
  EndRecord& record = parts_.ends->find_or_add(frame.end);
  if (frame.sequence == record.sequence && !same_offer(record, frame)) {
    return violation("two frames about an end with one sequence number");
  }
  if (frame.sequence <= record.sequence) return {};
  const bool taken = std::ranges::any_of(parts_.ends->records(), [&](const EndRecord& other) {
    return other.end != frame.end && other.offered && other.path == frame.path;
  });
  if (taken) return violation("path id of another end");
  record = {.end = frame.end,
            .path = frame.path,
            .address = frame.address,
            .sequence = frame.sequence,
            .offered = true};
  // It may have been abandoned while the frame was under way.
  const PathEntry* entry = parts_.paths.find_or_add(frame.path);
  record.offered = entry && !entry->abandonment;
  if (record.offered) {
    parts_.events.push_back(EndOfferedEvent{frame.end, frame.path, frame.address});
  }
  return {};
}

TransportStatus EndManagement::on_frame(const EndWithdrawFrame& frame) {
  if (parts_.role != Role::kClient) return violation("END_WITHDRAW from a client");
  EndRecord& record = parts_.ends->find_or_add(frame.end);
  if (frame.sequence == record.sequence && record.offered) {
    return violation("two frames about an end with one sequence number");
  }
  if (frame.sequence <= record.sequence) return {};
  record.sequence = frame.sequence;
  record.reason = frame.reason;
  if (!record.offered && !record.drains) return {};
  record.offered = false;
  record.drains = frame.reason == k_end_drains;
  parts_.events.push_back(EndWithdrawnEvent{frame.end, record.path, frame.reason});
  PathEntry* entry = parts_.paths.find(record.path);
  if (frame.reason != k_end_drains && entry && !entry->abandonment) {
    // Also when it was not opened: the lease comes back with the account of its path.
    entry->end = frame.end;
    PathManagement(parts_, now_)
        .abandon_end(
            *entry, static_cast<std::uint64_t>(TransportErrorCode::kApplicationAbandonPath), false);
  }
  return {};
}

// Who only receives sends nothing that an end would have to answer.
Time EndManagement::quiet_deadline(const PathEntry& entry) const {
  const Path& path = *entry.path;
  if (path.validation.pending() || path.ping_due || entry.suspect() ||
      path.loss.has_ack_eliciting_in_flight()) {
    return k_never;
  }
  if (!entry.end) {
    // Ends get no more credit from a primary that is gone, and nothing else would tell the client.
    return asks_ends() ? entry.last_heard +
                             std::max<Duration>(k_quiet_primary, 3 * parts_.probe_timeout(path))
                       : k_never;
  }
  if (parts_.streams.pinned_count(entry.id) > 0) {
    return entry.last_heard + std::max<Duration>(k_quiet, 3 * parts_.probe_timeout(path));
  }
  // A path that was validated ahead is kept, as long as the connection is in use at all.
  if (parts_.streams.open_streams() == 0 || parts_.idle.timeout() == Duration::zero()) {
    return k_never;
  }
  return entry.last_heard + parts_.idle.timeout() / 2;
}

bool EndManagement::asks_ends() const {
  return std::ranges::any_of(parts_.paths.in_use(), [&](const PathEntry* entry) {
    return entry->end && entry->open() && parts_.streams.pinned_count(entry->id) > 0;
  });
}

Time EndManagement::silence_deadline(const PathEntry& entry) const {
  if (!entry.suspect()) return k_never;
  return entry.silent_since + std::max<Duration>(k_silence, 3 * parts_.probe_timeout(*entry.path));
}

// Without a primary no credit comes any more: what waits for some would wait for ever. Unless it is
// lost to the client alone, and the end still hears from it.
Time EndManagement::starved_deadline(const PathEntry& entry) const {
  if (!parts_.primary_lost || !entry.end ||
      !parts_.streams.starved(entry.id, entry.blocked_limit)) {
    return k_never;
  }
  return std::max(parts_.primary_lost_at, entry.blocked_at) + k_starved;
}

Time EndManagement::primary_deadline() const {
  bool any_end = false;
  Time latest{};
  for (const PathEntry* entry : parts_.paths.in_use()) {
    if (!entry->open()) continue;
    any_end |= entry->end.has_value();
    if (!entry->end) latest = std::max(latest, silence_deadline(*entry));
  }
  return any_end ? latest : k_never;
}

Time EndManagement::next_timeout() const {
  if (parts_.role != Role::kClient) return k_never;
  Time next = parts_.primary_lost ? k_never : primary_deadline();
  for (const PathEntry* entry : parts_.paths.in_use()) {
    if (!entry->open()) continue;
    if (entry->end) next = std::min(next, silence_deadline(*entry));
    next = std::min(next, quiet_deadline(*entry));
    next = std::min(next, starved_deadline(*entry));
  }
  return next;
}

void EndManagement::on_timeout() {
  if (parts_.role != Role::kClient) return;
  for (PathEntry* entry : parts_.paths.in_use()) {
    if (!entry->open()) continue;
    if (entry->end && now_ >= std::min(silence_deadline(*entry), starved_deadline(*entry))) {
      PathManagement(parts_, now_)
          .abandon_end(*entry, static_cast<std::uint64_t>(TransportErrorCode::kPathUnstableOrPoor),
                       false);
    } else if (now_ >= quiet_deadline(*entry)) {
      entry->path->ping_due = true;
    }
  }
  const bool silent = now_ >= primary_deadline();
  if (silent && !parts_.primary_lost) {
    parts_.events.push_back(PrimaryLostEvent{});
    parts_.primary_lost_at = now_;
  }
  parts_.primary_lost = silent;
}

}  // namespace sheaf::quic
