#include "direct_return/own_recovery/return_paths.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

// Lent paths use up path ids for good, so this bounds the ids that a client permits.
constexpr PathId k_highest_return_path{1023};

class ReturnPathsOffer final : public PathPolicyFactory {
 public:
  void offer(TransportParameters& own) const override {
    own.initial_max_path_id = ReturnPaths::k_path_id_step * PathIds::k_max_concurrent - 1;
    own.return_paths = k_max_return_paths;
  }

  // Keys per path, since a backend shall be able to seal packets of its path alone.
  std::unique_ptr<PathPolicy> agree(ConnectionExtension connection,
                                    const TransportParameters& peer) const override {
    if (!peer.return_paths) return nullptr;
    connection.keys().set_mode(KeyMode::kPerPath);
    connection.paths().ids().share(ReturnPaths::k_path_id_step, k_highest_return_path);
    return std::make_unique<ReturnPaths>(connection, std::size_t(*peer.return_paths));
  }
};

constexpr ReturnPathsOffer k_return_paths_offer;

}  // namespace

PathEntry* ReturnPaths::lend() {
  const PathTable& paths = connection_.paths();
  const auto free = std::ranges::find_if(paths.entries(), [&](const auto& entry) {
    return is_return_path(entry->id) && entry->id <= paths.ids().common_maximum() && !entry->path &&
           !entry->abandonment && !entry->remote_ids.assigned() && entry->remote_ids.has_unused();
  });
  if (free == paths.entries().end()) return nullptr;
  PathEntry& entry = **free;
  if (!connection_.keys().lend(entry.id)) return nullptr;
  entry.remote_ids.assign();
  entry.rules.for_policy = FrameSet::of<PathAckFrame>();
  return &entry;
}

TransportStatus ReturnPaths::on_frame(PathEntry& entry, const Frame& frame, Time now) {
  const auto* acknowledgement = std::get_if<PathAckFrame>(&frame);
  if (acknowledgement && listener_) {
    listener_->on_path_acknowledged(entry.id, acknowledgement->ack, now);
  }
  return {};
}

bool ReturnPaths::accept_path(PathEntry& entry, const AddressPair& addresses, Time) {
  const PathEntry* first = connection_.paths().find(PathId{0});
  if (!is_return_path(entry.id) || !first || !first->path) return false;
  connection_.keys().drop_sending(entry.id);
  entry.rules.receives_only = true;
  Path& path = connection_.make_path(entry, addresses);
  path.amplification.validate();
  // Timers of the connection ask for the slowest path.
  path.rtt.set_initial(first->path->rtt.smoothed());
  return true;
}

void ReturnPaths::on_abandoned(PathEntry& entry, Time now) {
  const bool lent = entry.rules.for_policy.contains<PathAckFrame>();
  if (lent && listener_) listener_->on_path_abandoned(entry.id, now);
}

bool ReturnPaths::update_keys(Time now) {
  bool any = false;
  const PathEntry* first = connection_.paths().find(PathId{0});
  if (!first || !first->path) return false;
  for (const auto& entry : connection_.paths().entries()) {
    const bool lent = entry->rules.for_policy.contains<PathAckFrame>();
    if (!lent || entry->abandonment) continue;
    any |= connection_.keys().initiate_update(entry->id, now, connection_.probe_timeout(*first));
  }
  return any;
}

void offer_return_paths(ConnectionConfig& config) { config.path_policy = &k_return_paths_offer; }

const PathPolicyFactory& return_paths_offer() { return k_return_paths_offer; }

}  // namespace sheaf::quic
