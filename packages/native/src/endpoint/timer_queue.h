#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "util/time.h"

namespace sheaf::quic {

// Orders the next deadlines of many owners in a binary heap. Each owner knows its position, so that
// moving a deadline takes O(log n) and allocates nothing.
template <typename Owner>
class TimerQueue {
 public:
  // Base class of owners.
  struct Entry {
    Time deadline = k_never;
    std::size_t position = k_absent;
  };
  static constexpr std::size_t k_absent = SIZE_MAX;

  Time next() const { return heap_.empty() ? k_never : entry(heap_[0]).deadline; }
  // Returns the owner with the earliest deadline, or null when none has one.
  Owner* first() const { return heap_.empty() ? nullptr : heap_[0]; }

  void set(Owner* owner, Time deadline) {
    Entry& own = entry(owner);
    if (deadline == k_never) return remove(owner);
    if (own.position == k_absent) {
      own.position = heap_.size();
      heap_.push_back(owner);
    } else if (own.deadline == deadline) {
      return;
    }
    own.deadline = deadline;
    sift_up(own.position);
    sift_down(own.position);
  }

  void remove(Owner* owner) {
    const std::size_t position = entry(owner).position;
    if (position == k_absent) return;
    entry(owner) = {};
    Owner* last = heap_.back();
    heap_.pop_back();
    if (last == owner) return;
    heap_[position] = last;
    entry(last).position = position;
    sift_up(position);
    sift_down(entry(last).position);
  }

 private:
  static Entry& entry(Owner* owner) { return owner->timer; }

  void sift_up(std::size_t position) {
    while (position > 0) {
      const std::size_t parent = (position - 1) / 2;
      if (entry(heap_[parent]).deadline <= entry(heap_[position]).deadline) return;
      exchange(parent, position);
      position = parent;
    }
  }
  void sift_down(std::size_t position) {
    for (;;) {
      std::size_t least = position;
      for (std::size_t child : {2 * position + 1, 2 * position + 2}) {
        if (child < heap_.size() && entry(heap_[child]).deadline < entry(heap_[least]).deadline) {
          least = child;
        }
      }
      if (least == position) return;
      exchange(least, position);
      position = least;
    }
  }
  void exchange(std::size_t a, std::size_t b) {
    std::swap(heap_[a], heap_[b]);
    entry(heap_[a]).position = a;
    entry(heap_[b]).position = b;
  }

  std::vector<Owner*> heap_;
};

}  // namespace sheaf::quic
