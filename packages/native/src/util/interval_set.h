#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sheaf::quic {

// The values start, start + 1, …, end - 1.
struct Interval {
  std::uint64_t start = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - start; }
  bool operator==(const Interval&) const = default;
};

// A set of 64-bit values as sorted, disjoint, non-adjacent intervals in one flat array. Adding at
// or after the last interval takes constant time. UINT64_MAX cannot be a member. The user bounds
// the number of intervals that a peer may cause.
class IntervalSet {
 public:
  using const_iterator = std::vector<Interval>::const_iterator;

  // Adds [start, end) and returns how many values were not in the set before.
  std::uint64_t insert(std::uint64_t start, std::uint64_t end) {
    if (start >= end) return 0;
    if (intervals_.empty() || start > intervals_.back().end) {
      intervals_.push_back({start, end});
      return end - start;
    }
    Interval& last = intervals_.back();
    if (start < last.start) return insert_before_last(start, end);
    if (end <= last.end) return 0;
    const std::uint64_t added = end - last.end;
    last.end = end;
    return added;
  }
  std::uint64_t insert(std::uint64_t value) { return insert(value, value + 1); }

  // Removes [start, end) and returns how many values were in the set before.
  std::uint64_t erase(std::uint64_t start, std::uint64_t end);
  void pop_front() { intervals_.erase(intervals_.begin()); }
  void clear() { intervals_.clear(); }
  void reserve(std::size_t intervals) { intervals_.reserve(intervals); }

  bool contains(std::uint64_t value) const {
    return value != UINT64_MAX && contains(value, value + 1);
  }
  // Returns whether all of [start, end) is in the set.
  bool contains(std::uint64_t start, std::uint64_t end) const;
  // Returns the smallest value >= `from` that is not in the set.
  std::uint64_t first_gap(std::uint64_t from = 0) const;
  // Returns the first interval that ends after `value`: it contains `value` or is the next one.
  const_iterator find(std::uint64_t value) const;

  bool empty() const { return intervals_.empty(); }
  std::size_t size() const { return intervals_.size(); }  // intervals
  std::uint64_t count() const;                            // values
  const Interval& operator[](std::size_t index) const { return intervals_[index]; }
  const Interval& front() const { return intervals_.front(); }
  const Interval& back() const { return intervals_.back(); }
  const_iterator begin() const { return intervals_.begin(); }
  const_iterator end() const { return intervals_.end(); }
  bool operator==(const IntervalSet&) const = default;

 private:
  std::uint64_t insert_before_last(std::uint64_t start, std::uint64_t end);

  std::vector<Interval> intervals_;
};

}  // namespace sheaf::quic
