#include "multi_end/primary_backends.h"

#include <algorithm>

#include "recovery/write_frame.h"
#include "wire/violation.h"

namespace sheaf::quic {

// --- hand-over ----------------------------------------------------------------------------------

bool PrimaryBackends::untouched(const PathEntry& entry) const {
  return BackendTable::is_backend_path(entry.id) &&
         entry.id <= connection_.paths().ids().common_maximum() && !entry.path &&
         !entry.abandonment && !entry.rules.apart;
}

bool PrimaryBackends::free(const PathEntry& entry) const {
  return untouched(entry) && entry.remote_ids.has_unused() && entry.local_ids.active_count() > 0;
}

FreePaths PrimaryBackends::free_paths() const {
  FreePaths count;
  if (!connection_.confirmed()) return count;
  for (const auto& entry : connection_.paths().entries()) {
    count.soon += untouched(*entry);
    count.now += free(*entry);
  }
  return count;
}

Result<BackendSeed, BackendRefusal> PrimaryBackends::hand_over(BackendId backend,
                                                               const Address& address,
                                                               const StreamLease& wanted) {
  if (!connection_.confirmed()) return BackendRefusal::kNotReady;
  if (backend.value > BackendId::k_maximum) return BackendRefusal::kUnknownBackend;
  const BackendRecord* known = table_.find(backend);
  if (known && (known->offered || known->drains)) return BackendRefusal::kAlready;
  const auto found = std::ranges::find_if(connection_.paths().entries(),
                                          [&](const auto& entry) { return free(*entry); });
  if (found == connection_.paths().entries().end()) return BackendRefusal::kNoPath;
  PathEntry& entry = **found;
  auto keys = connection_.keys().hand_over(entry.id);
  if (!keys) return BackendRefusal::kNotReady;
  BackendSeed seed = make_seed(backend, entry, std::move(*keys), wanted);

  // After this, nothing is sent or received here on this path: with the same keys in use at two
  // places, no packet number may be used twice.
  entry.rules = k_backend_path_rules;
  table_.set_path(entry.id, backend);
  BackendRecord& record = table_.find_or_add(backend);
  record.path = entry.id;
  record.address = address;
  record.told = false;
  return seed;
}

BackendSeed PrimaryBackends::make_seed(BackendId backend, const PathEntry& entry, PathHandOver keys,
                                       const StreamLease& wanted) {
  BackendSeed seed;
  seed.backend = backend;
  seed.keys = std::move(keys);
  seed.local_ids = entry.local_ids.given();
  seed.remote_ids = entry.remote_ids.given();
  seed.peer_parameters = connection_.peer_parameters();
  seed.peer_parameters.initial_max_data = 0;
  seed.peer_parameters.initial_max_streams_bidi = 0;
  seed.peer_parameters.initial_max_streams_uni = 0;
  seed.lease = connection_.streams().shared_limits().lease_out(wanted);
  const ConnectionConfig& config = connection_.config();
  seed.initial_stream_window = config.streams.initial_stream_window;
  seed.max_connection_window = config.streams.max_connection_window;
  seed.max_bidirectional_streams = config.streams.max_bidirectional_streams;
  seed.active_connection_id_limit = config.active_connection_id_limit;
  seed.max_idle_timeout = connection_.idle_timeout();
  seed.max_ack_delay = config.max_ack_delay;
  seed.ack_delay_exponent = config.ack_delay_exponent;
  return seed;
}

bool PrimaryBackends::may_update_keys() const {
  // Backends have the same keys, and only the client hears all of them (docs/internals/keys.md).
  return connection_.keys().mode() != KeyMode::kShared;
}

// --- what the client is told --------------------------------------------------------------------

void PrimaryBackends::announce(BackendRecord& record) {
  record.frame_due = true;
  connection_.set_frames_due(true);
  ++record.sequence;
}

Status<BackendRefusal> PrimaryBackends::offer(BackendId backend) {
  BackendRecord* record = table_.find(backend);
  if (!record) return BackendRefusal::kUnknownBackend;
  const PathEntry* entry = connection_.paths().find(record->path);
  if (record->offered || !entry || entry->abandonment) return BackendRefusal::kAlready;
  record->offered = record->told = true;
  announce(*record);
  return {};
}

Status<BackendRefusal> PrimaryBackends::withdraw(BackendId backend, std::uint64_t reason,
                                                 Time now) {
  BackendRecord* record = table_.find(backend);
  PathEntry* entry = record ? connection_.paths().find(record->path) : nullptr;
  if (!entry || entry->abandonment) return BackendRefusal::kUnknownBackend;
  const bool gone = reason != k_backend_drains;
  if (gone && !record->told) {
    connection_.end_path(*entry, TransportErrorCode::kApplicationAbandonPath, now);
    return {};
  }
  if (!record->offered && !(gone && record->drains)) return BackendRefusal::kUnknownBackend;
  record->drains = !gone;
  record->offered = false;
  record->reason = reason;
  announce(*record);
  return {};
}

void PrimaryBackends::write_frames(Writer& writer, SentPackets& sent) {
  using Kind = SentFrame::Kind;
  for (BackendRecord& record : table_.records()) {
    if (!record.frame_due) continue;
    const SentFrame log =
        SentFrame::for_backend(record.offered ? Kind::kBackendOffer : Kind::kBackendWithdraw,
                               record.backend, record.sequence);
    const Frame frame =
        record.offered
            ? Frame{BackendOfferFrame{record.backend, record.sequence, record.path, record.address}}
            : Frame{BackendWithdrawFrame{record.backend, record.sequence, record.reason}};
    if (!write_frame(writer, sent, frame, log)) return;
    record.frame_due = false;
  }
  connection_.set_frames_due(false);
}

void PrimaryBackends::on_frame_lost(const SentFrame& frame) {
  BackendRecord* record = table_.find(frame.backend());
  // Repeats only the newest frame.
  if (record && record->sequence == frame.sequence()) {
    record->frame_due = true;
    connection_.set_frames_due(true);
  }
}

// --- abandoned paths ----------------------------------------------------------------------------

TransportStatus PrimaryBackends::on_frame(PathEntry&, const Frame& frame, Time now) {
  if (std::holds_alternative<BackendOfferFrame>(frame)) {
    return violation("BACKEND_OFFER from a client");
  }
  if (std::holds_alternative<BackendWithdrawFrame>(frame)) {
    return violation("BACKEND_WITHDRAW from a client");
  }
  return on_abandon_frame(std::get<BackendAbandonFrame>(frame), now);
}

TransportStatus PrimaryBackends::on_abandon_frame(const BackendAbandonFrame& frame, Time now) {
  if (!connection_.paths().ids().permitted(frame.path) ||
      !BackendTable::is_backend_path(frame.path)) {
    return violation("path id that is not one of backends");
  }
  const PathEntry* entry = connection_.paths().find_or_add(frame.path);
  if (BackendPath* path = table_.path(frame.path); path && entry && !entry->abandonment) {
    path->use = frame.use;
  }
  return connection_.on_path_abandoned({frame.path, frame.error}, now);
}

void PrimaryBackends::on_abandoned(PathEntry& entry, Time) {
  const BackendPath* path = table_.path(entry.id);
  if (!path) return;
  table_.abandon_path(*path);
  connection_.report(
      BackendLeftEvent{path->backend, entry.id, entry.abandonment->error, path->use});
}

}  // namespace sheaf::quic
