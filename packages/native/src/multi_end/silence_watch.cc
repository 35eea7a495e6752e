#include "multi_end/silence_watch.h"

#include <algorithm>

namespace sheaf::quic {

// Returns when to ask a server for a sign of life. A client that only receives sends nothing that a
// backend would acknowledge.
Time SilenceWatch::quiet_deadline(const PathEntry& entry) const {
  const Path& path = *entry.path;
  if (path.validation.pending() || path.ping_due || entry.suspect() ||
      path.loss.has_ack_eliciting_in_flight()) {
    return k_never;
  }
  const Duration answer_time = 3 * connection_.probe_timeout(entry);
  if (!entry.rules.apart) {
    // Backends get no more credit from a primary that is gone, and nothing else would tell the
    // client.
    return backends_serve_streams() ? entry.last_heard + std::max(k_quiet_primary, answer_time)
                                    : k_never;
  }
  if (connection_.streams().pinned().count(entry.id) > 0) {
    return entry.last_heard + std::max(k_quiet, answer_time);
  }
  // A path that was validated ahead of use is kept while the connection is in use at all.
  if (connection_.streams().open_streams() == 0 || connection_.idle_timeout() == Duration::zero()) {
    return k_never;
  }
  return entry.last_heard + connection_.idle_timeout() / 2;
}

bool SilenceWatch::backends_serve_streams() const {
  return std::ranges::any_of(connection_.paths().in_use(), [&](const PathEntry* entry) {
    return entry->rules.apart && entry->open() &&
           connection_.streams().pinned().count(entry->id) > 0;
  });
}

Time SilenceWatch::silence_deadline(const PathEntry& entry) const {
  if (!entry.suspect()) return k_never;
  return entry.silent_since + std::max<Duration>(k_silence, 3 * connection_.probe_timeout(entry));
}

// Returns when to abandon a backend whose streams wait for credit. Without a primary no credit
// comes any more, and a stream could wait forever. If the primary is lost only to the client, the
// backend still gets credit.
Time SilenceWatch::starved_deadline(const PathEntry& entry) const {
  const BackendPath* path = table_.path(entry.id);
  if (!primary_lost_ || !path ||
      !connection_.streams().pinned().starved(entry.id, path->blocked_limit)) {
    return k_never;
  }
  return std::max(primary_lost_at_, path->blocked_at) + k_starved;
}

// Returns when the last path to the primary has been silent for too long, so that only backends are
// left.
Time SilenceWatch::primary_deadline() const {
  bool any_backend = false;
  Time latest{};
  for (const PathEntry* entry : connection_.paths().in_use()) {
    if (!entry->open()) continue;
    any_backend |= entry->rules.apart;
    if (!entry->rules.apart) latest = std::max(latest, silence_deadline(*entry));
  }
  return any_backend ? latest : k_never;
}

Time SilenceWatch::next_timeout() const {
  Time next = primary_lost_ ? k_never : primary_deadline();
  for (const PathEntry* entry : connection_.paths().in_use()) {
    if (!entry->open()) continue;
    if (entry->rules.apart) next = std::min(next, silence_deadline(*entry));
    next = std::min({next, quiet_deadline(*entry), starved_deadline(*entry)});
  }
  return next;
}

void SilenceWatch::on_timeout(Time now) {
  for (PathEntry* entry : connection_.paths().in_use()) {
    if (!entry->open()) continue;
    if (entry->rules.apart && now >= std::min(silence_deadline(*entry), starved_deadline(*entry))) {
      connection_.end_path(*entry, TransportErrorCode::kPathUnstableOrPoor, now);
    } else if (now >= quiet_deadline(*entry)) {
      entry->path->ping_due = true;
    }
  }
  const bool silent = now >= primary_deadline();
  if (silent && !primary_lost_) {
    connection_.report(PrimaryLostEvent{});
    primary_lost_at_ = now;
  }
  primary_lost_ = silent;
}

}  // namespace sheaf::quic
