#pragma once

#include <algorithm>
#include <optional>

#include "util/interval_set.h"
#include "wire/types.h"

namespace sheaf::quic {

// Which path ids a connection may use (RFC 10069 §3, §4.6): the maxima of both sides, the ids that
// an extension has, and those that are gone for good.
class PathIds {
 public:
  // Bounds path ids beyond the lowest one that is not gone. Also what is announced at first.
  static constexpr std::uint32_t k_max_concurrent = 8;

  // Both sides announced `initial_max_path_id`.
  void enable(PathId local_maximum, PathId peer_maximum) {
    enabled_ = true;
    local_maximum_ = local_maximum;
    peer_maximum_ = peer_maximum;
  }
  bool enabled() const { return enabled_; }
  // The client opens every `step`-th id from now on, and the path policy has those between. No id
  // above `highest` becomes permitted.
  void share(std::uint32_t step, PathId highest) {
    step_ = step;
    highest_ = highest;
  }
  std::uint32_t step() const { return step_; }
  // The connection never has another path than this one.
  void keep_only(PathId id) { only_ = id; }
  bool only_one() const { return only_.has_value(); }

  // --- maxima -----------------------------------------------------------------------------------
  PathId local_maximum() const { return local_maximum_; }
  PathId peer_maximum() const { return peer_maximum_; }
  // Both sides can use ids up to here.
  PathId common_maximum() const { return std::min(local_maximum_, peer_maximum_); }
  // Takes MAX_PATH_ID of the peer. One that does not raise the limit is ignored.
  void raise_peer_maximum(PathId maximum) { peer_maximum_ = std::max(peer_maximum_, maximum); }
  // False for an id that this side never permitted (RFC 10069 §4).
  bool permitted(PathId id) const { return only_ ? id == *only_ : id <= local_maximum_; }

  // --- ids that are gone ------------------------------------------------------------------------
  bool gone(PathId id) const { return gone_.contains(id.value); }
  // Returns the lowest id from this one on that is not gone.
  std::uint64_t next_not_gone(std::uint64_t from) const { return gone_.first_gap(from); }
  // The id cannot be used again. Raises the maximum that this side announces by one id of its kind
  // (RFC 10069 §4.6).
  void retire(PathId id) {
    gone_.insert(id.value);
    if (local_maximum_ >= highest_) return;
    local_maximum_.value += step_;
    maximum_due_ = true;
  }

  // --- frames -----------------------------------------------------------------------------------
  // MAX_PATH_ID waits to be sent.
  bool maximum_due() const { return maximum_due_; }
  void set_maximum_due(bool due) { maximum_due_ = due; }
  // The frame with this maximum is repeated unless it is out of date.
  void on_maximum_lost(std::uint64_t maximum) { maximum_due_ |= maximum == local_maximum_.value; }
  // PATHS_BLOCKED (RFC 10069 §4.7) waits to be sent.
  bool blocked_due() const { return blocked_due_; }
  void set_blocked_due(bool due) { blocked_due_ = due; }

 private:
  IntervalSet gone_;
  PathId local_maximum_{};
  PathId peer_maximum_{};
  std::uint32_t step_ = 1;
  PathId highest_{UINT32_MAX};
  std::optional<PathId> only_;
  bool enabled_ = false;
  bool maximum_due_ = false;
  bool blocked_due_ = false;
};

}  // namespace sheaf::quic
