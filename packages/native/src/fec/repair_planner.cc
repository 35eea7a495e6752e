#include "fec/repair_planner.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sheaf::quic::fec {
namespace {

constexpr std::size_t k_max_row = 0xffff;

// Returns those of the numbers that are in a set of intervals, at most `most`. Takes the time of
// its intervals, so a receiver that lacks little costs little.
InplaceVector<std::uint64_t, k_max_set_size> common_numbers(const IntervalSet& intervals,
                                                            std::span<const std::uint64_t> numbers,
                                                            std::size_t most) {
  InplaceVector<std::uint64_t, k_max_set_size> common;
  auto number = numbers.begin();
  for (const Interval& interval : intervals) {
    number = std::lower_bound(number, numbers.end(), interval.start);
    for (; number != numbers.end() && *number < interval.end; ++number) {
      if (common.size() == most) return common;
      common.push_back(*number);
    }
    if (number == numbers.end()) break;
  }
  return common;
}

// Returns how many of the numbers are in a set of intervals.
std::size_t count_common(const IntervalSet& intervals, std::span<const std::uint64_t> numbers) {
  std::size_t common = 0;
  auto interval = intervals.begin();
  for (const std::uint64_t number : numbers) {
    while (interval != intervals.end() && interval->end <= number) ++interval;
    if (interval == intervals.end()) break;
    if (interval->start <= number) ++common;
  }
  return common;
}

}  // namespace

RepairPlanner::RepairPlanner(const PlannerSettings& settings)
    : settings_(settings), wanted_(settings.reach) {}

ReceiverKey RepairPlanner::add_receiver() {
  const auto free =
      std::ranges::find_if(receivers_, [](const auto& each) { return !each.present; });
  const auto key = static_cast<ReceiverKey>(free - receivers_.begin());
  if (free == receivers_.end()) receivers_.emplace_back();
  Receiver& receiver = receivers_[key];
  receiver = {.present = true,
              .active = false,
              .largest = 0,
              .open = {},
              .unserved = {},
              .allowance = settings_.max_saved_rows * settings_.packets_per_row,
              .counted_to = next_};
  return key;
}

void RepairPlanner::remove_receiver(ReceiverKey key) {
  receivers_[key] = {};
  std::erase(active_, key);
}

void RepairPlanner::advance(std::uint64_t next, std::uint64_t oldest) {
  assert(next >= next_ && oldest <= next);
  next_ = next;
  floor_ = std::max({floor_, oldest, next > settings_.reach ? next - settings_.reach : 0});
  sent_.erase_if([this](const SentRows& rows) { return rows.set.last() < floor(); });
}

bool RepairPlanner::is_honest(std::uint64_t largest, std::span<const Interval> open) const {
  if (largest >= next_ || open.size() > settings_.max_ranges) return false;
  std::uint64_t count = 0;
  std::uint64_t before = 0;
  for (const Interval& range : open) {
    if (range.start >= range.end || range.start < before || range.end > largest) return false;
    count += range.size();
    if (count > settings_.max_open) return false;
    before = range.end + 1;
  }
  return true;
}

bool RepairPlanner::report(ReceiverKey key, std::uint64_t largest, std::span<const Interval> open) {
  if (!is_honest(largest, open)) return false;
  Receiver& receiver = receivers_[key];
  if (largest < receiver.largest) return true;
  receiver.largest = largest;
  receiver.open.clear();
  for (const Interval& range : open)
    receiver.open.insert(std::max(range.start, floor()), range.end);
  if (!receiver.open.empty() && !std::exchange(receiver.active, true)) active_.push_back(key);
  return true;
}

std::uint64_t RepairPlanner::remove(IntervalSet& intervals, std::uint64_t number) const {
  const std::uint64_t removed = intervals.erase(number, number + 1);
  if (intervals.size() > settings_.max_ranges) {
    intervals.erase(intervals.back().start, intervals.back().end);
  }
  return removed;
}

std::span<const PlannedRepairs> RepairPlanner::plan(std::size_t max_rows) {
  planned_.clear();
  count_wanted();
  NamedSet set;
  const auto finish = [&] {
    std::size_t left = max_rows;
    for (const PlannedRepairs& each : planned_) left -= each.rows;
    if (!set.empty() && left > 0) plan_set(set, left);
    set = {};
  };
  for (std::uint64_t number = floor(); number < next_; ++number) {
    if (wanted_[number - floor()] == 0 || set.add(number)) continue;
    finish();
    set.add(number);
  }
  finish();
  return planned_;
}

// Takes away what rows recover that the receiver has not reported on: each of them one packet.
void RepairPlanner::serve(Receiver& receiver) const {
  receiver.unserved = receiver.open;
  for (std::size_t i = 0; i < sent_.size() && !receiver.unserved.empty(); ++i) {
    const SentRows& rows = sent_[i];
    if (rows.last <= receiver.largest || rows.set.last() < receiver.unserved[0].start ||
        rows.set.first() >= receiver.unserved.back().end) {
      continue;
    }
    const auto served = common_numbers(receiver.unserved, rows.set.numbers(), rows.rows);
    for (const std::uint64_t number : served.view()) remove(receiver.unserved, number);
  }
}

// What a receiver cannot ask for must not make the sets of others larger either.
void RepairPlanner::keep_affordable(Receiver& receiver) const {
  std::uint64_t left = receiver.allowance / settings_.packets_per_row;
  for (const Interval& range : receiver.unserved) {
    if (range.size() > left) {
      receiver.unserved.erase(range.start + left, receiver.unserved.back().end);
      return;
    }
    left -= range.size();
  }
}

void RepairPlanner::add_allowance(Receiver& receiver) const {
  const std::uint64_t most = settings_.max_saved_rows * settings_.packets_per_row;
  const std::uint64_t sent = next_ - std::exchange(receiver.counted_to, next_);
  receiver.allowance = std::min(most, receiver.allowance + std::min(most, sent));
}

void RepairPlanner::drop_inactive() {
  std::erase_if(active_, [this](ReceiverKey key) {
    Receiver& receiver = receivers_[key];
    receiver.open.erase(0, floor());
    receiver.active = !receiver.open.empty();
    return !receiver.active;
  });
}

void RepairPlanner::count_wanted() {
  std::ranges::fill(wanted_, std::uint64_t{0});
  drop_inactive();
  for (const ReceiverKey key : active_) {
    Receiver& receiver = receivers_[key];
    add_allowance(receiver);
    serve(receiver);
    keep_affordable(receiver);
    for (const Interval& range : receiver.unserved) {
      for (std::uint64_t number = range.start; number < range.end; ++number) {
        ++wanted_[number - floor()];
      }
    }
  }
}

void RepairPlanner::plan_set(const NamedSet& set, std::size_t max_rows) {
  const auto need = [&set](const Receiver& receiver) {
    return count_common(receiver.unserved, set.numbers());
  };
  const std::size_t first_row = next_row(set);
  std::size_t rows = 0;
  std::size_t receivers = 0;
  for (const ReceiverKey key : active_) {
    const std::size_t needed = need(receivers_[key]);
    rows = std::max(rows, needed);
    if (needed > 0) ++receivers;
  }
  rows = std::min({rows, max_rows, k_max_row + 1 - first_row});
  if (rows == 0) return;
  for (const ReceiverKey key : active_) {
    Receiver& receiver = receivers_[key];
    receiver.allowance -= std::min(rows, need(receiver)) * settings_.packets_per_row;
  }
  planned_.push_back({.set = set,
                      .first_row = static_cast<RowIndex>(first_row),
                      .rows = rows,
                      .receivers = receivers});
}

std::size_t RepairPlanner::next_row(const NamedSet& set) const {
  std::size_t next = 0;
  for (std::size_t i = 0; i < sent_.size(); ++i) {
    if (sent_[i].set == set) next = std::max(next, sent_[i].next_row);
  }
  return next;
}

void RepairPlanner::sent(const PlannedRepairs& repairs, std::uint64_t last) {
  if (sent_.size() == k_max_sent) sent_.pop_front();
  sent_.push_back({.set = repairs.set,
                   .next_row = std::size_t{repairs.first_row} + repairs.rows,
                   .rows = repairs.rows,
                   .last = last});
}

}  // namespace sheaf::quic::fec
