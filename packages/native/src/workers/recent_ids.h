#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "wire/types.h"

namespace sheaf::workers {

// The ids that came into use last, at any worker: those of handshakes that are not over are among
// them. Bounded.
class RecentIds {
 public:
  static constexpr std::size_t k_max_ids = 2048;

  void add(const quic::ConnectionId& id) {
    const std::lock_guard lock(mutex_);
    if (ids_.size() == k_max_ids) ids_.pop_front();
    ids_.push_back(id);
  }
  std::vector<quic::ConnectionId> all() const {
    const std::lock_guard lock(mutex_);
    return {ids_.begin(), ids_.end()};
  }

 private:
  mutable std::mutex mutex_;
  std::deque<quic::ConnectionId> ids_;
};

}  // namespace sheaf::workers
