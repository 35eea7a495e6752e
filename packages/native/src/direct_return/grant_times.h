#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "direct_return/run_messages.h"
#include "util/time.h"

namespace sheaf::quic {

// When to look at which grant of a session next. There may be thousands, of which hardly any is due
// at a time.
class GrantTimes {
 public:
  // Replaces the time of the grant, if it has one.
  void set(GrantId id, Time at) {
    const auto [known, added] = times_.try_emplace(id, at);
    if (!added) {
      order_.erase({known->second, id});
      known->second = at;
    }
    order_.insert({at, id});
  }
  void erase(GrantId id) {
    const auto known = times_.find(id);
    if (known == times_.end()) return;
    order_.erase({known->second, id});
    times_.erase(known);
  }
  Time next() const { return order_.empty() ? k_never : order_.begin()->first; }
  // Takes a grant whose time has come. It has none any more.
  std::optional<GrantId> pop(Time now) {
    if (next() > now || order_.empty()) return std::nullopt;
    const GrantId id = order_.begin()->second;
    erase(id);
    return id;
  }

 private:
  std::map<GrantId, Time> times_;
  std::set<std::pair<Time, GrantId>> order_;
};

}  // namespace sheaf::quic
