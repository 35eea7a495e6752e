#include "connection/path_selection.h"

#include <algorithm>

namespace sheaf::quic {

bool PathSelection::chooses_among_several(const PathEntry& entry) {
  // RFC 10069 §3.1: a path carries data once it is validated. While none is, any path may.
  Snapshots& snapshots = snapshots_ ? *snapshots_ : snapshots_.emplace();
  std::size_t count = fill(snapshots, true);
  if (count == 0) count = fill(snapshots, false);
  const std::span<PathSnapshot> all(snapshots.data(), count);
  const std::span<PathSnapshot> usable = all.first(usable_paths(all));
  usable_ = usable;
  const auto chosen = parts_.path_scheduler->select(usable, demand());
  if (chosen) return usable[*chosen].id == entry.id;
  // The scheduler may have chosen to wait for a path that only waits for its pacer.
  const auto waits = std::ranges::find(usable, entry.id, &PathSnapshot::id);
  if (waits != usable.end() && waits->window >= waits->in_flight + waits->datagram_size) {
    const Time next = entry.path->pacer.next_send_time(now_);
    if (next > now_) parts_.wait_for_pacer(next);
  }
  return false;
}

std::size_t PathSelection::fill(Snapshots& snapshots, bool validated_only) const {
  std::size_t count = 0;
  for (const auto& entry : parts_.paths.in_use()) {
    const bool waits = validated_only && entry->path->validation.pending();
    if (!entry->usable() || entry->rules.apart || waits) continue;
    if (count < snapshots.size()) snapshots[count++] = snapshot(*entry);
  }
  return count;
}

PathSnapshot PathSelection::snapshot(const PathEntry& entry) const {
  const Path& path = *entry.path;
  const std::uint64_t rate = path.controller->pacing_rate();
  const double round_trip = to_seconds(path.rtt.smoothed());
  std::uint64_t capacity = path.controller->window();
  if (rate > 0 && rate < k_unlimited) {
    capacity =
        std::min(capacity, static_cast<std::uint64_t>(static_cast<double>(rate) * round_trip));
  }
  return {.id = path.id,
          .smoothed_rtt = path.rtt.smoothed(),
          .rtt_variance = path.rtt.variance(),
          .window = path.controller->window(),
          .capacity = capacity,
          .in_flight = path.loss.bytes_in_flight(),
          .sendable = path.send_allowance(now_),
          .datagram_size = path.mtu.current(),
          .until_room = until_room(path),
          .weight = entry.weight,
          .backup = is_backup(entry),
          .suspect = entry.suspect()};
}

Duration PathSelection::until_room(const Path& path) const {
  if (path.send_allowance(now_) >= path.mtu.current()) return {};
  const auto oldest = path.loss.oldest_outstanding();
  return oldest ? std::max(Duration{}, *oldest + path.rtt.smoothed() - now_) : Duration{};
}

bool PathSelection::is_backup(const PathEntry& entry) {
  return entry.own_preference.status == PathStatus::kBackup ||
         entry.peer_preference.status == PathStatus::kBackup;
}

SendDemand PathSelection::demand() const {
  const StreamSet& streams = parts_.streams;
  return {.unsent_bytes =
              streams.outgoing().open_ended() ? k_unlimited : streams.outgoing().unsent_bytes(),
          .flow_credit = streams.outgoing().connection_credit()};
}

bool PathSelection::acknowledged_elsewhere(const PathEntry& entry) const {
  return parts_.paths.ids().enabled() && entry.path->received.ack_deadline() <= now_ &&
         left_to_others(entry);
}

bool PathSelection::acknowledgement_can_leave(const ConnectionParts& parts,
                                              const PathEntry& entry) {
  const auto sends = [&](const PathEntry& path) {
    return path.usable() && path.path->amplification.may_send() && parts.keys.can_send(path.id);
  };
  if (sends(entry)) return true;
  return parts.paths.ids().enabled() && left_to_others(entry) &&
         std::ranges::any_of(parts.paths.in_use(), [&](const auto& other) {
           return other != &entry && !other->rules.apart && sends(*other);
         });
}

bool PathSelection::left_to_others(const PathEntry& entry) {
  if (entry.rules.apart) return false;
  return entry.abandonment || entry.rules.receives_only || !entry.remote_ids.assigned() ||
         entry.suspect();
}

}  // namespace sheaf::quic
