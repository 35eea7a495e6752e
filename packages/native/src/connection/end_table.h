#pragma once

#include <algorithm>
#include <vector>

#include "util/address.h"
#include "wire/end_id.h"
#include "wire/types.h"

namespace sheaf::quic {

// A server beside the primary, as offered to the client (docs/multi-end.md).
struct EndRecord {
  EndId end{};
  PathId path{};
  Address address{};
  std::uint64_t sequence = 0;  // of the newest frame about it
  std::uint64_t reason = 0;    // of the withdrawal
  bool offered = false;
  bool drains = false;     // withdrawn, but its path is in use
  bool told = false;       // primary: the client has heard of the path
  bool frame_due = false;  // primary: END_OFFER or END_WITHDRAW, by `offered`
};

// The ends that the primary named; bounded by the ids that there are (`EndId::k_maximum`).
class EndTable {
 public:
  // Path ids of ends are odd, those that the client opens to the primary are even: neither side
  // ever takes an id that the other is about to use.
  static constexpr bool is_end_path(PathId path) { return path.value % 2 == 1; }

  std::vector<EndRecord>& records() { return records_; }
  const std::vector<EndRecord>& records() const { return records_; }
  EndRecord* find(EndId end) {
    const auto found = std::ranges::find(records_, end, &EndRecord::end);
    return found == records_.end() ? nullptr : &*found;
  }
  EndRecord& find_or_add(EndId end) {
    if (EndRecord* known = find(end)) return *known;
    return records_.emplace_back(EndRecord{.end = end});
  }
  bool frames_due() const { return std::ranges::any_of(records_, &EndRecord::frame_due); }

 private:
  std::vector<EndRecord> records_;
};

}  // namespace sheaf::quic
