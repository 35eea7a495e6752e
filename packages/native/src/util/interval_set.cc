#include "util/interval_set.h"

#include <algorithm>

namespace sheaf::quic {

std::uint64_t IntervalSet::insert_before_last(std::uint64_t start, std::uint64_t end) {
  // Intervals that touch are merged as well, so that the intervals stay apart.
  auto first = std::ranges::lower_bound(intervals_, start, {}, &Interval::end);
  if (first->start > end) {
    intervals_.insert(first, {start, end});
    return end - start;
  }
  std::uint64_t covered = 0;
  Interval merged{std::min(start, first->start), end};
  auto last = first;
  for (; last != intervals_.end() && last->start <= end; ++last) {
    covered += last->size();
    merged.end = std::max(merged.end, last->end);
  }
  *first = merged;
  intervals_.erase(first + 1, last);
  return merged.size() - covered;
}

std::uint64_t IntervalSet::erase(std::uint64_t start, std::uint64_t end) {
  if (start >= end) return 0;
  auto first = std::ranges::upper_bound(intervals_, start, {}, &Interval::end);
  if (first == intervals_.end() || first->start >= end) return 0;

  if (first->start < start && end < first->end) {  // splits one interval
    const Interval right{end, first->end};
    first->end = start;
    intervals_.insert(first + 1, right);
    return end - start;
  }
  std::uint64_t removed = 0;
  if (first->start < start) {
    removed += first->end - start;
    first->end = start;
    ++first;
  }
  auto last = first;
  for (; last != intervals_.end() && last->end <= end; ++last) removed += last->size();
  if (last != intervals_.end() && last->start < end) {
    removed += end - last->start;
    last->start = end;
  }
  intervals_.erase(first, last);
  return removed;
}

IntervalSet::const_iterator IntervalSet::find(std::uint64_t value) const {
  return std::ranges::upper_bound(intervals_, value, {}, &Interval::end);
}

bool IntervalSet::contains(std::uint64_t start, std::uint64_t end) const {
  if (start >= end) return true;
  if (intervals_.empty() || start >= intervals_.back().end) return false;
  const auto interval = find(start);
  return interval->start <= start && end <= interval->end;
}

std::uint64_t IntervalSet::first_gap(std::uint64_t from) const {
  const auto interval = find(from);
  return interval != intervals_.end() && interval->start <= from ? interval->end : from;
}

std::uint64_t IntervalSet::count() const {
  std::uint64_t values = 0;
  for (const Interval& interval : intervals_) values += interval.size();
  return values;
}

}  // namespace sheaf::quic
