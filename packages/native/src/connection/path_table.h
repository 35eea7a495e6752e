#pragma once

#include <memory>
#include <vector>

#include "connection/path_entry.h"
#include "connection/path_ids.h"
#include "util/ring.h"

namespace sheaf::quic {

// The paths of a connection, each with what belongs to its id. Bounded by the maximum that this
// side announces (`PathIds`).
class PathTable {
 public:
  explicit PathTable(std::uint64_t active_connection_id_limit);

  PathIds& ids() { return ids_; }
  const PathIds& ids() const { return ids_; }

  // --- entries ----------------------------------------------------------------------------------
  // In order of ids. Ids that were forgotten have none.
  std::vector<std::unique_ptr<PathEntry>>& entries() { return entries_; }
  const std::vector<std::unique_ptr<PathEntry>>& entries() const { return entries_; }
  // Returns null when the id has no entry.
  PathEntry* find(PathId id);
  const PathEntry* find(PathId id) const;
  // Makes the entry when needed. Returns null for an id that is gone.
  PathEntry* find_or_add(PathId id);
  // Removes all other entries, for good.
  PathEntry& keep_only(PathId id);
  // Sets the rules of all paths that the policy does not change one by one.
  void set_rules(const PathRules& rules);
  // Some frame about a path or the limits waits, and any path may carry it.
  bool frames_due() const;
  // Removes what is left of a path.
  void forget(PathId id);

  // --- paths in use -----------------------------------------------------------------------------
  // The entries with a path, in order of ids: one, for most connections.
  const std::vector<PathEntry*>& in_use() const { return in_use_; }
  // The entry has its path from now on.
  void add_to_use(PathEntry& entry);
  // Counts the open paths that can carry everything.
  std::size_t open_count() const;
  // Returns whether there are two of them or more. Asked for every packet.
  bool several_open() const { return in_use_.size() > 1 && open_count() > 1; }
  // Returns one of them, for what any path can carry; null when none is open.
  Path* any_open();

  // --- connection ids ---------------------------------------------------------------------------
  // Sets what makes the ids that are issued.
  void set_id_maker(const SharedIdMaker& maker);
  // Returns the length of the ids.
  std::size_t local_id_length() const { return id_maker_->id_length(); }
  // Returns the entry to which a packet with this id of ours belongs; null when there is none.
  PathEntry* find_by_local_id(Bytes id);
  // The peer used the id on another path already (RFC 10069 §3.2: ids are unique).
  bool remote_id_known_elsewhere(const ConnectionId& id, PathId path) const;
  bool is_reset_token(Bytes token) const;
  // Returns the path apart that the token belongs to; null when there is none.
  PathEntry* apart_with_reset_token(Bytes token);
  // Some path apart is open.
  bool any_apart_open() const;
  std::optional<LocalConnectionIds::Change> poll_change();

 private:
  std::uint64_t active_connection_id_limit_;
  PathIds ids_;
  std::vector<std::unique_ptr<PathEntry>> entries_;
  std::vector<PathEntry*> in_use_;
  Ring<LocalConnectionIds::Change> leaving_;  // ids of forgotten paths
  PathRules rules_;
  SharedIdMaker id_maker_ = no_reset_key();
  PathEntry* last_found_ = nullptr;  // most packets come on the path of the one before
};

}  // namespace sheaf::quic
