#include "connection/application_paths.h"

#include <algorithm>

#include "connection/address_change.h"
#include "connection/parts.h"
#include "connection/path_management.h"

namespace sheaf::quic {

bool ApplicationPaths::enabled() const { return parts_.paths.ids().enabled(); }

Result<PathId, PathRefusal> ApplicationPaths::open(const AddressPair& addresses, Time now) {
  return PathManagement(parts_, now).open(addresses);
}

Status<PathRefusal> ApplicationPaths::abandon(PathId path, std::uint64_t error, Time now) {
  return PathManagement(parts_, now).abandon(path, error);
}

Status<PathRefusal> ApplicationPaths::set_status(PathId path, PathStatus status, Time now) {
  return PathManagement(parts_, now).set_status(path, status);
}

Status<PathRefusal> ApplicationPaths::set_weight(PathId path, std::uint32_t weight) {
  PathEntry* entry = parts_.paths.find(path);
  if (!entry || !entry->open()) return PathRefusal::kUnknownPath;
  entry->weight = weight;
  return {};
}

Status<PathRefusal> ApplicationPaths::set_outside_rate(PathId path, std::uint64_t rate) {
  PathEntry* entry = parts_.paths.find(path);
  if (!entry || !entry->open()) return PathRefusal::kUnknownPath;
  entry->path->controller->set_outside_rate(rate);
  return {};
}

Status<PathRefusal> ApplicationPaths::set_outside_credit(PathId path, std::uint64_t rate,
                                                         std::uint64_t bytes) {
  PathEntry* entry = parts_.paths.find(path);
  if (!entry || !entry->open()) return PathRefusal::kUnknownPath;
  entry->path->controller->set_outside_rate(rate);
  entry->path->controller->set_outside_credit(bytes);
  return {};
}

bool ApplicationPaths::report_tunnel(Bytes report) {
  // A proxy may send anything. The peer would close the connection for what is no report.
  return parts_.peer_parameters.tunnel_reports && decode_feedback_report(report) &&
         parts_.tunnel_report.set(report);
}

Status<PathRefusal> ApplicationPaths::tolerate_reordering(PathId path, Duration delay) {
  PathEntry* entry = parts_.paths.find(path);
  if (!entry || !entry->open()) return PathRefusal::kUnknownPath;
  entry->path->loss.reordering.expect(delay);
  return {};
}

Status<PathRefusal> ApplicationPaths::pin(StreamId stream, PathId path) {
  const PathEntry* entry = parts_.paths.find(path);
  if (!entry || !entry->open()) return PathRefusal::kUnknownPath;
  if (parts_.policy && !parts_.policy->takes_streams(*entry)) return PathRefusal::kForbidden;
  const auto pinned = parts_.streams.pinned().pin(stream, path, entry->rules.apart);
  if (pinned) return {};
  return pinned.error() == StreamRefusal::kElsewhere ? PathRefusal::kOtherServer
                                                     : PathRefusal::kUnknownStream;
}

bool ApplicationPaths::migrate(const Address& local, Time now, PathId id) {
  PathEntry* entry = parts_.paths.find(id);
  // RFC 9000 §9: after the handshake, if the peer allows it.
  if (parts_.role != Role::kClient || !parts_.handshake.confirmed() || !entry || !entry->usable() ||
      parts_.peer_parameters.disable_active_migration ||
      entry->path->addresses.remote.family != local.family) {
    return false;
  }
  return AddressChange(parts_, now).move(*entry, local);
}

bool ApplicationPaths::rotate_connection_id(PathId path) {
  PathEntry* entry = parts_.paths.find(path);
  return entry && entry->usable() && entry->remote_ids.rotate();
}

std::vector<Address> ApplicationPaths::local_addresses() const {
  std::vector<Address> addresses;
  for (const PathEntry* entry : parts_.paths.in_use()) {
    addresses.push_back(entry->path->addresses.local);
    if (entry->former) addresses.push_back(entry->former->addresses.local);
  }
  return addresses;
}

bool ApplicationPaths::leaves_addresses() const {
  return std::ranges::any_of(parts_.paths.in_use(), [](const PathEntry* entry) {
    return entry->abandonment || entry->former;
  });
}

std::vector<PathStats> ApplicationPaths::stats() const {
  std::vector<PathStats> stats;
  for (const PathEntry* entry : parts_.paths.in_use()) stats.push_back(parts_.path_stats(*entry));
  return stats;
}

}  // namespace sheaf::quic
