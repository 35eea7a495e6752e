#include "multi_end/client_backends.h"

#include <algorithm>

#include "wire/violation.h"

namespace sheaf::quic {

namespace {

bool same_offer(const BackendRecord& record, const BackendOfferFrame& frame) {
  return record.offered && record.path == frame.path && record.address == frame.address;
}

}  // namespace

Result<PathId, BackendRefusal> ClientBackends::open(BackendId backend, const Address& local,
                                                    Time now) {
  if (!connection_.confirmed()) return BackendRefusal::kNotReady;
  const BackendRecord* record = table_.find(backend);
  if (!record || !record->offered) return BackendRefusal::kUnknownBackend;
  PathEntry* entry = connection_.paths().find(record->path);
  if (!entry || entry->path || entry->abandonment) return BackendRefusal::kAlready;
  if (!entry->remote_ids.assign()) return BackendRefusal::kNoPath;
  take_path(*entry, backend);
  Path& path = connection_.make_path(*entry, {local, record->address});
  entry->last_heard = now;
  // The primary vouches for the address, which gets few packets before it answers.
  path.amplification.validate();
  path.validation.start(now, RttEstimator{}.probe_timeout(Duration::zero()));
  return entry->id;
}

void ClientBackends::take_path(PathEntry& entry, BackendId backend) {
  entry.rules = k_backend_path_rules;
  table_.set_path(entry.id, backend);
}

bool ClientBackends::takes_streams(const PathEntry& entry) const {
  const BackendPath* path = table_.path(entry.id);
  if (!path) return true;
  const BackendRecord* record = table_.find(path->backend);
  return record && record->offered && record->path == entry.id;
}

bool ClientBackends::may_update_keys() const {
  if (connection_.keys().mode() != KeyMode::kShared) return true;
  // Nodes with the same keys must not fall two updates behind (docs/internals/keys.md).
  return std::ranges::all_of(connection_.paths().in_use(), [&](const PathEntry* entry) {
    return !entry->open() || entry->key_generation == connection_.keys().updates();
  });
}

// --- frames -------------------------------------------------------------------------------------

TransportStatus ClientBackends::on_frame(PathEntry& entry, const Frame& frame, Time now) {
  if (const auto* offer = std::get_if<BackendOfferFrame>(&frame)) return on_offer(*offer);
  if (const auto* withdraw = std::get_if<BackendWithdrawFrame>(&frame)) {
    return on_withdraw(*withdraw, now);
  }
  if (const auto* blocked = std::get_if<DataBlockedFrame>(&frame)) {
    BackendPath* path = table_.path(entry.id);
    path->blocked_limit = blocked->limit;
    path->blocked_at = now;
    return {};
  }
  return violation("BACKEND_ABANDON from a server");
}

TransportStatus ClientBackends::on_offer(const BackendOfferFrame& frame) {
  if (!connection_.paths().ids().permitted(frame.path) ||
      !BackendTable::is_backend_path(frame.path)) {
    return violation("path id that is not one of backends");
  }
  BackendRecord& record = table_.find_or_add(frame.backend);
  if (frame.sequence == record.sequence && !same_offer(record, frame)) {
    return violation("two frames about a backend with one sequence number");
  }
  if (frame.sequence <= record.sequence) return {};
  const bool taken = std::ranges::any_of(table_.records(), [&](const BackendRecord& other) {
    return other.backend != frame.backend && other.offered && other.path == frame.path;
  });
  if (taken) return violation("path id of another backend");
  record = {.backend = frame.backend,
            .path = frame.path,
            .address = frame.address,
            .sequence = frame.sequence,
            .offered = true};
  // The path may have been abandoned while the frame was in flight.
  const PathEntry* entry = connection_.paths().find_or_add(frame.path);
  record.offered = entry && !entry->abandonment;
  if (record.offered) {
    connection_.report(BackendOfferedEvent{frame.backend, frame.path, frame.address});
  }
  return {};
}

TransportStatus ClientBackends::on_withdraw(const BackendWithdrawFrame& frame, Time now) {
  BackendRecord& record = table_.find_or_add(frame.backend);
  if (frame.sequence == record.sequence && record.offered) {
    return violation("two frames about a backend with one sequence number");
  }
  if (frame.sequence <= record.sequence) return {};
  record.sequence = frame.sequence;
  record.reason = frame.reason;
  if (!record.offered && !record.drains) return {};
  record.offered = false;
  record.drains = frame.reason == k_backend_drains;
  connection_.report(BackendWithdrawnEvent{frame.backend, record.path, frame.reason});
  PathEntry* entry = connection_.paths().find(record.path);
  if (frame.reason != k_backend_drains && entry && !entry->abandonment) {
    // Applies to unopened paths as well, since the account of the path returns the lease.
    take_path(*entry, frame.backend);
    connection_.end_path(*entry, TransportErrorCode::kApplicationAbandonPath, now);
  }
  return {};
}

// --- violations and abandoned paths -------------------------------------------------------------

bool ClientBackends::on_violation(const TransportError& error, Time now) {
  // The primary exceeded the connection's limit, perhaps because a backend used more than its
  // lease. The backends therefore lose their paths, and the peer sends the packet again.
  if (error.code != TransportErrorCode::kFlowControlError ||
      !connection_.streams().shared_limits().exceeded()) {
    return false;
  }
  bool any = false;
  for (PathEntry* entry : connection_.paths().in_use()) {
    if (!entry->rules.apart || !entry->open()) continue;
    any = true;
    connection_.end_path(*entry, TransportErrorCode::kFlowControlError, now);
  }
  if (any) connection_.streams().shared_limits().tolerate();
  return any;
}

void ClientBackends::on_abandoned(PathEntry& entry, Time) {
  BackendPath* path = table_.path(entry.id);
  if (!path) return;
  path->use = connection_.streams().pinned().lose(entry.id);
  table_.abandon_path(*path);
}

Frame ClientBackends::abandonment_frame(const PathEntry& entry) const {
  const BackendPath* path = table_.path(entry.id);
  if (!path) return PathPolicy::abandonment_frame(entry);
  return BackendAbandonFrame{entry.id, entry.abandonment->error, path->use};
}

}  // namespace sheaf::quic
