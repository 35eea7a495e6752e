#pragma once

#include <deque>
#include <set>

#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// The lent paths that a backend has given up. It must never begin one of them again, since its
// packet numbers would begin again, too. A late grant could make it do so. The carrier refuses one
// that lies 4,096 grants below the newest, and a backend has at most 4,096 grants at a time. So the
// last paths of several times that number are enough.
class ClosedPaths {
 public:
  void add(std::uint32_t path) {
    if (!known_.insert(path).second) return;
    order_.push_back(path);
    if (order_.size() <= k_max_remembered) return;
    known_.erase(order_.front());
    order_.pop_front();
  }
  bool contains(std::uint32_t path) const { return known_.contains(path); }

 private:
  static constexpr std::size_t k_max_remembered = 16384;

  std::deque<std::uint32_t> order_;
  std::set<std::uint32_t> known_;
};

}  // namespace sheaf::quic
