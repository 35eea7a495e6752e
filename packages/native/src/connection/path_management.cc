#include "connection/path_management.h"

#include <algorithm>

#include "connection/connection_extension.h"
#include "connection/frame_outcome.h"
#include "connection/local_parameters.h"
#include "wire/violation.h"

namespace sheaf::quic {

namespace {

// The receiver of the frame adds its type.
constexpr const char* k_above_maximum = "path id above the announced maximum";

constexpr std::uint64_t code(TransportErrorCode error) { return static_cast<std::uint64_t>(error); }

}  // namespace

TransportStatus PathManagement::enable(const TransportParameters& peer) {
  if (!parts_.config.multipath || !peer.initial_max_path_id) return {};
  if (parts_.first_entry().remote_ids.current().length == 0) {
    return TransportError{TransportErrorCode::kProtocolViolation, 0,
                          "multipath with a connection id of length zero"};
  }
  const TransportParameters own = local_parameters(parts_.config);
  parts_.paths.ids().enable(PathId{static_cast<std::uint32_t>(*own.initial_max_path_id)},
                            PathId{static_cast<std::uint32_t>(*peer.initial_max_path_id)});
  if (const PathPolicyFactory* factory = parts_.config.path_policy) {
    parts_.policy = factory->agree(ConnectionExtension(parts_), peer);
  }
  return {};
}

void PathManagement::issue_connection_ids() {
  PathTable& paths = parts_.paths;
  const PathIds& ids = paths.ids();
  if (PathEntry* first = paths.find(PathId{0})) issue_connection_ids(*first);
  if (!ids.enabled() || ids.only_one()) return;
  // The ids that are not gone are few, so as many of each kind get connection ids.
  std::vector<std::uint32_t> left(ids.step(), PathIds::k_max_concurrent);
  for (auto id = ids.next_not_gone(1); id <= ids.common_maximum().value;
       id = ids.next_not_gone(id + 1)) {
    if (left[id % ids.step()] == 0) continue;
    --left[id % ids.step()];
    issue_connection_ids(*paths.find_or_add(PathId{static_cast<std::uint32_t>(id)}));
  }
}

void PathManagement::issue_connection_ids(PathEntry& entry) {
  // Another node issues the ids of a path that it receives.
  if (entry.abandonment || entry.silenced()) return;
  // A path needs one id to open with and one to change to. Path 0 gets as many as the peer takes.
  const std::uint64_t limit = parts_.peer_parameters.active_connection_id_limit;
  entry.local_ids.issue(entry.id == PathId{0} ? limit : std::min<std::uint64_t>(limit, 2),
                        parts_.random);
}

// --- application --------------------------------------------------------------------------------

Result<PathId, PathRefusal> PathManagement::open(const AddressPair& addresses) {
  if (parts_.role != Role::kClient) return PathRefusal::kOnlyClient;
  if (!parts_.paths.ids().enabled()) return PathRefusal::kNotNegotiated;
  if (!parts_.handshake.confirmed()) return PathRefusal::kNotReady;
  // RFC 10069 §2.2: forbids a new path to the address of the handshake.
  if (parts_.peer_parameters.disable_active_migration &&
      addresses.remote == parts_.handshake_remote()) {
    return PathRefusal::kForbidden;
  }
  // RFC 10069 §3.2.1: ids are used in order, but the peer's connection ids may arrive out of order.
  PathEntry* entry = parts_.opening.next();
  if (!entry) return say_what_is_missing();
  entry->remote_ids.assign();
  Path& path = parts_.make_path(*entry, addresses);
  // The limit protects strangers, and the server is known (RFC 9000 §8.1).
  path.amplification.validate();
  path.validation.start(now_, RttEstimator{}.probe_timeout(Duration::zero()));
  announce_availability();
  return entry->id;
}

// RFC 10069 §4.7.
PathRefusal PathManagement::say_what_is_missing() {
  if (const auto id = parts_.opening.next_unused()) {
    parts_.paths.find_or_add(*id)->cids_blocked_due = true;
    return PathRefusal::kNoConnectionId;
  }
  PathIds& ids = parts_.paths.ids();
  ids.set_blocked_due(ids.peer_maximum() <= ids.local_maximum());
  return PathRefusal::kPathLimit;
}

void PathManagement::announce_availability() {
  if (parts_.role == Role::kClient && parts_.opening.became_possible()) {
    parts_.events.push_back(PathsAvailableEvent{});
  }
}

Status<PathRefusal> PathManagement::abandon(PathId id, std::uint64_t error) {
  PathEntry* entry = parts_.paths.find(id);
  if (!parts_.paths.ids().enabled()) return PathRefusal::kNotNegotiated;
  if (!entry || !entry->open()) return PathRefusal::kUnknownPath;
  if (!entry->rules.apart && parts_.paths.open_count() < 2) return PathRefusal::kLastPath;
  end(*entry, error, false);
  return {};
}

Status<PathRefusal> PathManagement::set_status(PathId id, PathStatus status) {
  PathEntry* entry = parts_.paths.find(id);
  if (!parts_.paths.ids().enabled()) return PathRefusal::kNotNegotiated;
  if (!entry || !entry->open()) return PathRefusal::kUnknownPath;
  PathPreference& own = entry->own_preference;
  if (own.sequence && own.status == status) return {};
  own.status = status;
  own.sequence = own.sequence.value_or(0) + 1;
  own.frame_due = true;
  return {};
}

// --- packets and timers -------------------------------------------------------------------------

void PathManagement::accept(PathEntry& entry, const AddressPair& addresses) {
  Path& path = parts_.make_path(entry, addresses);
  path.update_pacing(now_);
  // RFC 10069 §3.1: the server validates too.
  path.validation.start(now_, RttEstimator{}.probe_timeout(Duration::zero()));
  // Without an id the path waits for PATH_NEW_CONNECTION_ID, which may have been overtaken.
  entry.remote_ids.assign();
  parts_.events.push_back(PathOpenedEvent{entry.id});
}

void PathManagement::on_validated(PathEntry& entry) {
  entry.path->amplification.validate();
  if (parts_.paths.ids().enabled()) parts_.events.push_back(PathValidatedEvent{entry.id});
}

Time PathManagement::next_timeout(const ConnectionParts& parts) {
  Time next = k_never;
  for (const auto& entry : parts.paths.entries()) {
    if (entry->abandonment) {
      next = std::min(next, entry->abandonment->forget_at);
    } else if (entry->path) {
      next = std::min(next, entry->path->validation.next_timeout());
    }
  }
  return next;
}

void PathManagement::on_timeout() {
  std::vector<PathId> forgotten;
  for (const auto& entry : parts_.paths.entries()) {
    if (entry->abandonment) {
      Abandonment& end = *entry->abandonment;
      if (now_ < end.forget_at) continue;
      if (end.frame_acknowledged) {
        forgotten.push_back(entry->id);
      } else {
        end.forget_at = now_ + 3 * parts_.probe_timeout();
      }
    } else if (entry->path && now_ >= entry->path->validation.next_timeout()) {
      entry->path->validation.on_timeout(now_);
      if (entry->path->validation.state() == PathValidation::State::kFailed) {
        fail_validation(*entry);
      }
    }
  }
  for (const PathId id : forgotten) {
    parts_.paths.forget(id);
    parts_.keys.forget(id);
    if (parts_.policy) parts_.policy->on_forgotten(id);
  }
  // A path with the new id can be opened once the peer gives connection ids for it too.
  if (!forgotten.empty()) issue_connection_ids();
}

void PathManagement::fail_validation(PathEntry& entry) {
  if (entry.path->revert(now_)) {
    entry.former.reset();  // the path is back there
    return;
  }
  if (entry.rules.apart || parts_.paths.open_count() > 1) {
    // RFC 10069 §3.1: the id is used up, so the path is closed.
    const auto error = entry.remote_ids.assigned() ? TransportErrorCode::kPathUnstableOrPoor
                                                   : TransportErrorCode::kNoCidAvailableForPath;
    return end(entry, code(error), false);
  }
  // RFC 9000 §9.3.2: without a working address the connection ends silently.
  parts_.close.finish({.cause = ConnectionClosed::Cause::kLocalError,
                       .error = code(TransportErrorCode::kNoViablePath),
                       .reason = "path validation failed"});
}

void PathManagement::end(PathEntry& entry, std::uint64_t error, bool by_peer) {
  const bool first = !entry.abandonment;
  if (first) entry.abandonment.emplace(Abandonment{.error = error});
  Abandonment& abandonment = *entry.abandonment;
  if (by_peer && !abandonment.by_peer) {
    abandonment.by_peer = true;
    abandonment.forget_at = now_ + 3 * parts_.probe_timeout();  // §3.4
  }
  if (first) leave(entry);
  announce_availability();
  if (first && by_peer && !entry.rules.apart && parts_.paths.open_count() == 0) {
    parts_.start_closing({.cause = ConnectionClosed::Cause::kLocalError,
                          .error = code(TransportErrorCode::kNoError),
                          .reason = "the last path was abandoned"},
                         now_);
  }
}

// Gives what an abandoned path still had to the other paths.
void PathManagement::leave(PathEntry& entry) {
  entry.copies.clear();
  if (!entry.rules.apart) parts_.streams.pinned().unpin_all(entry.id);
  if (parts_.policy) parts_.policy->on_abandoned(entry, now_);
  if (!entry.path) return;
  // Sends data in flight again elsewhere at once, and not only when the path's state is dropped
  // (§3.4.3).
  FrameOutcome outcome(parts_, now_);
  entry.path->loss.abandon_outstanding(outcome);
  entry.path->controller->on_path_abandoned();
  const Abandonment& abandonment = *entry.abandonment;
  parts_.events.push_back(PathAbandonedEvent{entry.id, abandonment.error, abandonment.by_peer});
}

// --- frames -------------------------------------------------------------------------------------

TransportStatus PathManagement::on_frame(const PathAbandonFrame& frame) {
  if (!parts_.paths.ids().permitted(frame.path)) {
    return violation(k_above_maximum);
  }
  if (PathEntry* entry = parts_.paths.find_or_add(frame.path)) end(*entry, frame.error, true);
  return {};
}

TransportStatus PathManagement::on_frame(const PathStatusFrame& frame) {
  if (!parts_.paths.ids().permitted(frame.path)) {
    return violation(k_above_maximum);
  }
  PathEntry* entry = parts_.paths.find_or_add(frame.path);
  if (!entry || entry->abandonment) return {};
  PathPreference& peer = entry->peer_preference;
  if (peer.sequence && frame.sequence <= *peer.sequence) return {};
  peer.sequence = frame.sequence;
  if (peer.status != frame.status) {
    parts_.events.push_back(PathStatusEvent{frame.path, frame.status});
  }
  peer.status = frame.status;
  return {};
}

TransportStatus PathManagement::on_frame(const PathNewConnectionIdFrame& frame) {
  if (!parts_.paths.ids().permitted(frame.path)) {
    return violation(k_above_maximum);
  }
  PathEntry* entry = parts_.paths.find_or_add(frame.path);
  if (!entry || entry->abandonment) return {};
  // §3.2.1: ids are unique over the connection.
  if (parts_.paths.remote_id_known_elsewhere(frame.issued.id, frame.path)) {
    return violation("connection id of another path");
  }
  TransportStatus status = entry->remote_ids.on_new(frame.issued);
  if (!status) return status;
  if (entry->path && !entry->rules.receives_only) entry->remote_ids.assign();
  announce_availability();
  return {};
}

TransportStatus PathManagement::on_frame(const PathRetireConnectionIdFrame& frame) {
  if (!parts_.paths.ids().permitted(frame.path)) {
    return violation(k_above_maximum);
  }
  PathEntry* entry = parts_.paths.find_or_add(frame.path);
  if (!entry) return {};
  // Packets of an open path may still be on their way with the id.
  const Duration remembered = entry->path ? 3 * parts_.probe_timeout() : Duration::zero();
  TransportStatus status = entry->local_ids.on_retire({frame.sequence}, now_ + remembered);
  if (!entry->path) entry->local_ids.forget_retired(now_);
  if (status) issue_connection_ids(*entry);
  return status;
}

TransportStatus PathManagement::on_frame(const MaxPathIdFrame& frame) {
  // A path that was handed over is the only one of its connection here, which has no such transport
  // parameter.
  if (parts_.paths.ids().only_one()) return {};
  // §4.6: may not fall below the transport parameter.
  if (frame.maximum.value < *parts_.peer_parameters.initial_max_path_id) {
    return violation("maximum below initial_max_path_id");
  }
  if (frame.maximum <= parts_.paths.ids().peer_maximum()) return {};
  parts_.paths.ids().raise_peer_maximum(frame.maximum);
  issue_connection_ids();
  announce_availability();
  return {};
}

TransportStatus PathManagement::on_frame(const PathsBlockedFrame& frame) {
  if (!parts_.paths.ids().permitted(frame.maximum)) {
    return violation(k_above_maximum);
  }
  // Our MAX_PATH_ID may be on its way or lost. Repeating it costs nothing.
  if (frame.maximum < parts_.paths.ids().local_maximum()) parts_.paths.ids().set_maximum_due(true);
  return {};
}

TransportStatus PathManagement::on_frame(const PathCidsBlockedFrame& frame) {
  if (!parts_.paths.ids().permitted(frame.path)) {
    return violation(k_above_maximum);
  }
  PathEntry* entry = parts_.paths.find_or_add(frame.path);
  if (!entry) return {};
  if (frame.next_sequence > entry->local_ids.next_sequence()) {
    return violation("sequence number beyond the next one");
  }
  if (frame.path <= parts_.paths.ids().common_maximum()) issue_connection_ids(*entry);
  return {};
}

}  // namespace sheaf::quic
