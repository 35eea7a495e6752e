#include "connection/backend_management.h"

#include <algorithm>

#include "connection/path_management.h"
#include "recovery/write_frame.h"
#include "wire/violation.h"

namespace sheaf::quic {

namespace {

// The receiver of the frame adds its type.
bool same_offer(const BackendRecord& record, const BackendOfferFrame& frame) {
  return record.offered && record.path == frame.path && record.address == frame.address;
}

}  // namespace

void BackendManagement::enable(const TransportParameters& peer) {
  if (!parts_.paths.enabled() || !peer.multi_end) return;
  const std::uint64_t common = *peer.multi_end & parts_.config.multi_end & BackendKeyModes::k_all;
  if (common == 0) return;
  parts_.backends = std::make_unique<BackendTable>();
  // A backend had better not know more than it needs.
  parts_.keys.set_mode(common & BackendKeyModes::k_per_path ? KeyMode::kPerPath : KeyMode::kShared);
  parts_.paths.reserve_for_backends();
  parts_.streams.share();
}

// --- primary ------------------------------------------------------------------------------------

bool BackendManagement::untouched(const PathEntry& entry) const {
  return BackendTable::is_backend_path(entry.id) && entry.id <= parts_.paths.common_maximum() &&
         !entry.path && !entry.abandonment && !entry.backend;
}

bool BackendManagement::free(const PathEntry& entry) const {
  return untouched(entry) && entry.remote_ids.has_unused() && entry.local_ids.active_count() > 0;
}

Connection::FreePaths BackendManagement::free_paths() const {
  Connection::FreePaths count;
  if (!parts_.backends || !parts_.handshake_confirmed) return count;
  for (const auto& entry : parts_.paths.entries()) {
    count.soon += untouched(*entry);
    count.now += free(*entry);
  }
  return count;
}

Result<BackendSeed, BackendRefusal> BackendManagement::hand_over(BackendId backend,
                                                                 const Address& address,
                                                                 const StreamLease& wanted) {
  if (!parts_.backends || parts_.role != Role::kServer) return BackendRefusal::kNotNegotiated;
  if (!parts_.handshake_confirmed) return BackendRefusal::kNotReady;
  if (backend.value > BackendId::k_maximum) return BackendRefusal::kUnknownBackend;
  const BackendRecord* known = parts_.backends->find(backend);
  if (known && (known->offered || known->drains)) return BackendRefusal::kAlready;
  const auto found =
      std::ranges::find_if(parts_.paths.entries(), [&](const auto& entry) { return free(*entry); });
  if (found == parts_.paths.entries().end()) return BackendRefusal::kNoPath;
  PathEntry* entry = found->get();
  auto keys = parts_.keys.hand_over(entry->id);
  if (!keys) return BackendRefusal::kNotReady;

  BackendSeed seed;
  seed.backend = backend;
  seed.keys = std::move(*keys);
  seed.local_ids = entry->local_ids.given();
  seed.remote_ids = entry->remote_ids.given();
  seed.peer_parameters = parts_.peer_parameters;
  seed.peer_parameters.initial_max_data = 0;
  seed.peer_parameters.initial_max_streams_bidi = 0;
  seed.peer_parameters.initial_max_streams_uni = 0;
  seed.lease = parts_.streams.shared_limits().lease_out(wanted);
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
  entry->backend = backend;
  BackendRecord& record = parts_.backends->find_or_add(backend);
  record.path = entry->id;
  record.address = address;
  record.told = false;
  return seed;
}

Status<BackendRefusal> BackendManagement::offer(BackendId backend) {
  BackendRecord* record = parts_.backends ? parts_.backends->find(backend) : nullptr;
  if (!record) return BackendRefusal::kUnknownBackend;
  const PathEntry* entry = parts_.paths.find(record->path);
  if (record->offered || !entry || entry->abandonment) return BackendRefusal::kAlready;
  record->offered = record->told = record->frame_due = true;
  ++record->sequence;
  return {};
}

Status<BackendRefusal> BackendManagement::withdraw(BackendId backend, std::uint64_t reason) {
  BackendRecord* record = parts_.backends ? parts_.backends->find(backend) : nullptr;
  PathEntry* entry = record ? parts_.paths.find(record->path) : nullptr;
  if (!entry || entry->abandonment) return BackendRefusal::kUnknownBackend;
  const bool gone = reason != k_backend_drains;
  if (gone && !record->told) {
    PathManagement(parts_, now_)
        .abandon_backend(
            *entry, static_cast<std::uint64_t>(TransportErrorCode::kApplicationAbandonPath), false);
    return {};
  }
  if (!record->offered && !(gone && record->drains)) return BackendRefusal::kUnknownBackend;
  record->drains = !gone;
  record->offered = false;
  record->frame_due = true;
  record->reason = reason;
  ++record->sequence;
  return {};
}

void BackendManagement::write_frames(Writer& writer, SentPackets& sent) {
  using Kind = SentFrame::Kind;
  for (BackendRecord& record : parts_.backends->records()) {
    if (!record.frame_due) continue;
    const SentFrame log{.stream = record.backend.value,
                        .offset = record.sequence,
                        .kind = record.offered ? Kind::kBackendOffer : Kind::kBackendWithdraw};
    const Frame frame =
        record.offered
            ? Frame{BackendOfferFrame{record.backend, record.sequence, record.path, record.address}}
            : Frame{BackendWithdrawFrame{record.backend, record.sequence, record.reason}};
    if (!write_frame(writer, sent, frame, log)) return;
    record.frame_due = false;
  }
}

void BackendManagement::on_frame_lost(const SentFrame& frame) {
  BackendRecord* record = parts_.backends->find({static_cast<std::uint32_t>(frame.stream)});
  // Only the newest is worth repeating.
  if (record && record->sequence == frame.offset) record->frame_due = true;
}

void BackendManagement::on_abandoned(const PathEntry& entry) {
  BackendRecord* record = parts_.backends->find(*entry.backend);
  if (record && record->path == entry.id)
    record->offered = record->drains = record->frame_due = false;
  if (parts_.role == Role::kServer) {
    parts_.events.push_back(
        BackendLeftEvent{*entry.backend, entry.id, entry.abandonment->error, entry.backend_use});
  }
}

TransportStatus BackendManagement::on_frame(const BackendAbandonFrame& frame) {
  if (parts_.role != Role::kServer) return violation("BACKEND_ABANDON from a server");
  if (!parts_.paths.permitted(frame.path) || !BackendTable::is_backend_path(frame.path)) {
    return violation("path id that is not one of backends");
  }
  if (PathEntry* entry = parts_.paths.find_or_add(frame.path); entry && !entry->abandonment) {
    entry->backend_use = frame.use;
  }
  return PathManagement(parts_, now_).on_frame(PathAbandonFrame{frame.path, frame.error});
}

// --- client -------------------------------------------------------------------------------------

Result<PathId, BackendRefusal> BackendManagement::open(BackendId backend, const Address& local) {
  if (!parts_.backends || parts_.role != Role::kClient) return BackendRefusal::kNotNegotiated;
  if (!parts_.handshake_confirmed) return BackendRefusal::kNotReady;
  const BackendRecord* record = parts_.backends->find(backend);
  if (!record || !record->offered) return BackendRefusal::kUnknownBackend;
  PathEntry* entry = parts_.paths.find(record->path);
  if (!entry || entry->path || entry->abandonment) return BackendRefusal::kAlready;
  if (!entry->remote_ids.assign()) return BackendRefusal::kNoPath;
  Path& path = parts_.make_path(*entry, {local, record->address});
  entry->backend = backend;
  entry->last_heard = now_;
  // The primary vouches for the address; it gets few packets before it answers.
  path.amplification.validate();
  path.validation.start(now_, RttEstimator{}.probe_timeout(Duration::zero()));
  return entry->id;
}

bool BackendManagement::blame_for(const TransportError& error) {
  if (parts_.role != Role::kClient || error.code != TransportErrorCode::kFlowControlError ||
      !parts_.streams.shared_limits().exceeded()) {
    return false;
  }
  bool any = false;
  for (PathEntry* entry : parts_.paths.in_use()) {
    if (!entry->backend || !entry->open()) continue;
    any = true;
    PathManagement(parts_, now_)
        .abandon_backend(*entry, static_cast<std::uint64_t>(TransportErrorCode::kFlowControlError),
                         false);
  }
  if (any) parts_.streams.shared_limits().tolerate();
  return any;
}

bool BackendManagement::withdrawn(const PathEntry& entry) const {
  const BackendRecord* record = parts_.backends->find(*entry.backend);
  return !record || !record->offered || record->path != entry.id;
}

TransportStatus BackendManagement::on_frame(const BackendOfferFrame& frame) {
  if (parts_.role != Role::kClient) return violation("BACKEND_OFFER from a client");
  if (!parts_.paths.permitted(frame.path) || !BackendTable::is_backend_path(frame.path)) {
    return violation("path id that is not one of backends");
  }
  BackendRecord& record = parts_.backends->find_or_add(frame.backend);
  if (frame.sequence == record.sequence && !same_offer(record, frame)) {
    return violation("two frames about a backend with one sequence number");
  }
  if (frame.sequence <= record.sequence) return {};
  const bool taken =
      std::ranges::any_of(parts_.backends->records(), [&](const BackendRecord& other) {
        return other.backend != frame.backend && other.offered && other.path == frame.path;
      });
  if (taken) return violation("path id of another backend");
  record = {.backend = frame.backend,
            .path = frame.path,
            .address = frame.address,
            .sequence = frame.sequence,
            .offered = true};
  // It may have been abandoned while the frame was in flight.
  const PathEntry* entry = parts_.paths.find_or_add(frame.path);
  record.offered = entry && !entry->abandonment;
  if (record.offered) {
    parts_.events.push_back(BackendOfferedEvent{frame.backend, frame.path, frame.address});
  }
  return {};
}

TransportStatus BackendManagement::on_frame(const BackendWithdrawFrame& frame) {
  if (parts_.role != Role::kClient) return violation("BACKEND_WITHDRAW from a client");
  BackendRecord& record = parts_.backends->find_or_add(frame.backend);
  if (frame.sequence == record.sequence && record.offered) {
    return violation("two frames about a backend with one sequence number");
  }
  if (frame.sequence <= record.sequence) return {};
  record.sequence = frame.sequence;
  record.reason = frame.reason;
  if (!record.offered && !record.drains) return {};
  record.offered = false;
  record.drains = frame.reason == k_backend_drains;
  parts_.events.push_back(BackendWithdrawnEvent{frame.backend, record.path, frame.reason});
  PathEntry* entry = parts_.paths.find(record.path);
  if (frame.reason != k_backend_drains && entry && !entry->abandonment) {
    // Also when it was not opened: the lease comes back with the account of its path.
    entry->backend = frame.backend;
    PathManagement(parts_, now_)
        .abandon_backend(
            *entry, static_cast<std::uint64_t>(TransportErrorCode::kApplicationAbandonPath), false);
  }
  return {};
}

// Who only receives sends nothing that a backend would have to answer.
Time BackendManagement::quiet_deadline(const PathEntry& entry) const {
  const Path& path = *entry.path;
  if (path.validation.pending() || path.ping_due || entry.suspect() ||
      path.loss.has_ack_eliciting_in_flight()) {
    return k_never;
  }
  if (!entry.backend) {
    // Backends get no more credit from a primary that is gone, and nothing else would tell the
    // client.
    return asks_backends() ? entry.last_heard +
                                 std::max<Duration>(k_quiet_primary, 3 * parts_.probe_timeout(path))
                           : k_never;
  }
  if (parts_.streams.pinned().count(entry.id) > 0) {
    return entry.last_heard + std::max<Duration>(k_quiet, 3 * parts_.probe_timeout(path));
  }
  // A path that was validated ahead is kept, as long as the connection is in use at all.
  if (parts_.streams.open_streams() == 0 || parts_.idle.timeout() == Duration::zero()) {
    return k_never;
  }
  return entry.last_heard + parts_.idle.timeout() / 2;
}

bool BackendManagement::asks_backends() const {
  return std::ranges::any_of(parts_.paths.in_use(), [&](const PathEntry* entry) {
    return entry->backend && entry->open() && parts_.streams.pinned().count(entry->id) > 0;
  });
}

Time BackendManagement::silence_deadline(const PathEntry& entry) const {
  if (!entry.suspect()) return k_never;
  return entry.silent_since + std::max<Duration>(k_silence, 3 * parts_.probe_timeout(*entry.path));
}

// Without a primary no credit comes any more: what waits for some would wait for ever. Unless it is
// lost to the client alone, and the backend still hears from it.
Time BackendManagement::starved_deadline(const PathEntry& entry) const {
  if (!parts_.primary_lost || !entry.backend ||
      !parts_.streams.pinned().starved(entry.id, entry.blocked_limit)) {
    return k_never;
  }
  return std::max(parts_.primary_lost_at, entry.blocked_at) + k_starved;
}

Time BackendManagement::primary_deadline() const {
  bool any_backend = false;
  Time latest{};
  for (const PathEntry* entry : parts_.paths.in_use()) {
    if (!entry->open()) continue;
    any_backend |= entry->backend.has_value();
    if (!entry->backend) latest = std::max(latest, silence_deadline(*entry));
  }
  return any_backend ? latest : k_never;
}

Time BackendManagement::next_timeout() const {
  if (parts_.role != Role::kClient) return k_never;
  Time next = parts_.primary_lost ? k_never : primary_deadline();
  for (const PathEntry* entry : parts_.paths.in_use()) {
    if (!entry->open()) continue;
    if (entry->backend) next = std::min(next, silence_deadline(*entry));
    next = std::min(next, quiet_deadline(*entry));
    next = std::min(next, starved_deadline(*entry));
  }
  return next;
}

void BackendManagement::on_timeout() {
  if (parts_.role != Role::kClient) return;
  for (PathEntry* entry : parts_.paths.in_use()) {
    if (!entry->open()) continue;
    if (entry->backend && now_ >= std::min(silence_deadline(*entry), starved_deadline(*entry))) {
      PathManagement(parts_, now_)
          .abandon_backend(
              *entry, static_cast<std::uint64_t>(TransportErrorCode::kPathUnstableOrPoor), false);
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
