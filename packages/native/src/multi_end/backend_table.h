#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "util/address.h"
#include "util/time.h"
#include "wire/backend_id.h"
#include "wire/frame.h"
#include "wire/types.h"

namespace sheaf::quic {

// Describes a server beside the primary, as offered to the client (docs/internals/multi-end.md).
struct BackendRecord {
  BackendId backend{};
  PathId path{};
  Address address{};
  std::uint64_t sequence = 0;  // of the newest frame about it
  std::uint64_t reason = 0;    // of the withdrawal
  bool offered = false;
  bool drains = false;     // withdrawn, but its path is in use
  bool told = false;       // primary: the client knows the path
  bool frame_due = false;  // primary: BACKEND_OFFER or BACKEND_WITHDRAW, by `offered`
};

// Describes a path that belongs to a backend, from the hand-over (primary) or the opening (client)
// until the path id is forgotten.
struct BackendPath {
  PathId path{};
  BackendId backend{};
  BackendUse use{};                              // the client's account, once the path is abandoned
  std::optional<std::uint64_t> blocked_limit{};  // client: limit in the backend's DATA_BLOCKED
  Time blocked_at{};                             // when that arrived
};

// Holds the backends that the primary named, at most as many as there are ids
// (`BackendId::k_maximum`), and their paths, at most as many as path ids may be in use.
class BackendTable {
 public:
  // Backends have odd path ids, and the client opens even ones to the primary. So neither side
  // takes an id that the other is about to use.
  static constexpr std::uint32_t k_path_id_step = 2;
  static constexpr bool is_backend_path(PathId path) { return path.value % k_path_id_step == 1; }

  std::vector<BackendRecord>& records() { return records_; }
  const std::vector<BackendRecord>& records() const { return records_; }
  BackendRecord* find(BackendId backend) {
    const auto found = std::ranges::find(records_, backend, &BackendRecord::backend);
    return found == records_.end() ? nullptr : &*found;
  }
  const BackendRecord* find(BackendId backend) const {
    return const_cast<BackendTable*>(this)->find(backend);
  }
  BackendRecord& find_or_add(BackendId backend) {
    if (BackendRecord* known = find(backend)) return *known;
    return records_.emplace_back(BackendRecord{.backend = backend});
  }
  bool frames_due() const { return std::ranges::any_of(records_, &BackendRecord::frame_due); }

  BackendPath* path(PathId id) {
    const auto found = std::ranges::find(paths_, id, &BackendPath::path);
    return found == paths_.end() ? nullptr : &*found;
  }
  const BackendPath* path(PathId id) const { return const_cast<BackendTable*>(this)->path(id); }
  void set_path(PathId id, BackendId backend) {
    if (BackendPath* known = path(id)) {
      known->backend = backend;
    } else {
      paths_.push_back({.path = id, .backend = backend});
    }
  }
  void forget_path(PathId id) {
    std::erase_if(paths_, [id](const BackendPath& path) { return path.path == id; });
  }
  // Notes that the path is abandoned. The newest record about its backend may describe a later
  // path.
  void abandon_path(const BackendPath& path) {
    BackendRecord* record = find(path.backend);
    if (record && record->path == path.path) {
      record->offered = record->drains = record->frame_due = false;
    }
  }

 private:
  std::vector<BackendRecord> records_;
  std::vector<BackendPath> paths_;
};

}  // namespace sheaf::quic
