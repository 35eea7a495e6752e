#pragma once

#include <memory>
#include <vector>

#include "connection/path_entry.h"
#include "util/interval_set.h"
#include "util/ring.h"

namespace sheaf::quic {

// The path ids of a connection (RFC 10069 §3): which may be used, which are in use, and which are
// gone for good. Bounded by the maximum that this side announces.
class PathTable {
 public:
  // Path ids beyond the lowest one that is not gone, at most; also what is announced at first.
  static constexpr std::uint32_t k_max_concurrent = 8;

  explicit PathTable(std::uint64_t active_connection_id_limit);

  // --- limits -----------------------------------------------------------------------------------
  // Both sides announced `initial_max_path_id`.
  void enable(PathId local_maximum, PathId peer_maximum);
  // From now on the client opens every `step`-th id, and the path policy has those between. No id
  // above `highest` becomes permitted.
  void share_ids(std::uint32_t step, PathId highest) {
    step_ = step;
    highest_ = highest;
  }
  std::uint32_t step() const { return step_; }
  // The rules of all paths that the policy does not change one by one.
  void set_rules(const PathRules& rules);
  // The connection never has another path than this one. Returns its entry.
  PathEntry& keep_only(PathId id);
  bool only_one() const { return only_.has_value(); }
  bool enabled() const { return enabled_; }
  PathId local_maximum() const { return local_maximum_; }
  PathId peer_maximum() const { return peer_maximum_; }
  // Ids up to here can be used by both sides.
  PathId common_maximum() const { return std::min(local_maximum_, peer_maximum_); }
  // MAX_PATH_ID of the peer; one that does not raise the limit is ignored.
  void raise_peer_maximum(PathId maximum);
  // RFC 10069 §4: a larger id was never permitted.
  bool permitted(PathId id) const { return only_ ? id == *only_ : id <= local_maximum_; }
  bool maximum_due() const { return maximum_due_; }
  void set_maximum_due(bool due) { maximum_due_ = due; }
  // PATHS_BLOCKED (RFC 10069 §4.7) waits to be sent.
  bool blocked_due() const { return blocked_due_; }
  void set_blocked_due(bool due) { blocked_due_ = due; }
  bool frames_due() const;

  // Key for stateless reset tokens of ids that are issued; 32 bytes.
  void set_reset_key(Bytes key);

  // --- entries ----------------------------------------------------------------------------------
  // In order of ids. Ids that were forgotten have none.
  std::vector<std::unique_ptr<PathEntry>>& entries() { return entries_; }
  const std::vector<std::unique_ptr<PathEntry>>& entries() const { return entries_; }
  // Those with a path, in order of ids: one, for most connections.
  const std::vector<PathEntry*>& in_use() const { return in_use_; }
  // The entry has its path from now on.
  void add_to_use(PathEntry& entry);
  // Null when the id has no entry.
  PathEntry* find(PathId id);
  const PathEntry* find(PathId id) const;
  // Made when needed; null for one that is gone.
  PathEntry* find_or_add(PathId id);
  bool gone(PathId id) const { return gone_.contains(id.value); }
  // The lowest id from this one on that is not gone.
  std::uint64_t next_not_gone(std::uint64_t from) const { return gone_.first_gap(from); }
  // To which path a packet that carries this id of ours belongs; null when there is none.
  PathEntry* find_by_local_id(Bytes id);
  // The peer used the id on another path already (RFC 10069 §3.2: ids are unique).
  bool remote_id_known_elsewhere(const ConnectionId& id, PathId path) const;
  bool is_reset_token(Bytes token) const;
  // The path apart that the token belongs to; null when there is none.
  PathEntry* apart_with_reset_token(Bytes token);
  // Lowest id from this one on that nobody used yet; nothing when the limits allow none.
  std::optional<PathId> next_unused(std::uint64_t from = 0) const;
  // The lowest unused one for which the peer gave connection ids; null when there is none.
  PathEntry* next_to_open();
  // True when a path can be opened now and could not be the last time that this was asked.
  bool became_available();
  // Counts the open paths that are not apart.
  std::size_t open_count() const;
  // One of them that is open, for what any path can carry; null when none is.
  Path* any_open();

  // Ends what is left of a path. Raises the maximum that we announce by as many ids as are gone.
  void forget(PathId id);
  std::optional<LocalConnectionIds::Change> poll_change();

 private:
  std::uint64_t active_connection_id_limit_;
  std::vector<std::unique_ptr<PathEntry>> entries_;
  std::vector<PathEntry*> in_use_;
  IntervalSet gone_;
  Ring<LocalConnectionIds::Change> leaving_;  // ids of forgotten paths
  PathId local_maximum_{};
  PathId peer_maximum_{};
  bool enabled_ = false;
  std::uint32_t step_ = 1;
  PathId highest_{UINT32_MAX};
  PathRules rules_;
  std::optional<PathId> only_;
  bool maximum_due_ = false;
  bool blocked_due_ = false;
  bool available_ = false;  // as of the last `became_available`
  std::vector<std::uint8_t> reset_key_;
  PathEntry* last_found_ = nullptr;  // most packets come on the path of the one before
};

}  // namespace sheaf::quic
