#pragma once

#include <algorithm>
#include <vector>

#include "util/address.h"
#include "wire/backend_id.h"
#include "wire/types.h"

namespace sheaf::quic {

// A server beside the primary, as offered to the client (docs/internals/multi-end.md).
struct BackendRecord {
  BackendId backend{};
  PathId path{};
  Address address{};
  std::uint64_t sequence = 0;  // of the newest frame about it
  std::uint64_t reason = 0;    // of the withdrawal
  bool offered = false;
  bool drains = false;     // withdrawn, but its path is in use
  bool told = false;       // primary: the client has heard of the path
  bool frame_due = false;  // primary: BACKEND_OFFER or BACKEND_WITHDRAW, by `offered`
};

// The backends that the primary named; bounded by the ids that there are (`BackendId::k_maximum`).
class BackendTable {
 public:
  // Path ids of backends are odd, those that the client opens to the primary are even: neither side
  // ever takes an id that the other is about to use.
  static constexpr bool is_backend_path(PathId path) { return path.value % 2 == 1; }

  std::vector<BackendRecord>& records() { return records_; }
  const std::vector<BackendRecord>& records() const { return records_; }
  BackendRecord* find(BackendId backend) {
    const auto found = std::ranges::find(records_, backend, &BackendRecord::backend);
    return found == records_.end() ? nullptr : &*found;
  }
  BackendRecord& find_or_add(BackendId backend) {
    if (BackendRecord* known = find(backend)) return *known;
    return records_.emplace_back(BackendRecord{.backend = backend});
  }
  bool frames_due() const { return std::ranges::any_of(records_, &BackendRecord::frame_due); }

 private:
  std::vector<BackendRecord> records_;
};

}  // namespace sheaf::quic
