#pragma once

#include <span>
#include <vector>

#include "fec/named_set.h"
#include "fec/rows.h"
#include "util/interval_set.h"
#include "util/ring.h"

namespace sheaf::quic::fec {

using ReceiverKey = std::uint32_t;

struct PlannerSettings {
  std::uint64_t reach = 4096;         // how many of the newest packets can be repaired
  std::size_t max_ranges = 64;        // of a report
  std::uint64_t max_open = 1024;      // packets that a receiver may lack
  std::uint64_t packets_per_row = 4;  // a receiver may ask for a row for so many packets
  std::uint64_t max_saved_rows = 64;  // which it has not asked for
};

struct PlannedRepairs {
  NamedSet set;
  RowIndex first_row;
  std::size_t rows;
  std::size_t receivers;  // that lack packets of the set
};

// The source's decision which repairs to make. It follows what each receiver needs: a receiver that
// lacks three packets of a set needs three rows, whichever packets others lack, and rows that it
// has not reported on yet count as received. So a set costs as many rows as its worst receiver
// needs.
//
// Reports are not trusted. A receiver has an allowance of rows, which grows with the packets that
// are sent; beyond it its needs count no more. Memory is bounded: `max_ranges` intervals twice for
// each receiver, 8 bytes for each packet in reach, and 64 sets. What a receiver needs in more
// intervals waits for its next report. Receivers that lack nothing cost no time.
class RepairPlanner {
 public:
  explicit RepairPlanner(const PlannerSettings& settings);

  ReceiverKey add_receiver();
  void remove_receiver(ReceiverKey key);

  // All packets below `next` have been sent. Those below `oldest` are repaired no more.
  void advance(std::uint64_t next, std::uint64_t oldest = 0);
  std::uint64_t floor() const { return floor_; }

  // A receiver has packets up to `largest`, and lacks `open` of these. They are ascending, and say
  // how many rows it needs (Solver::awaits_another). Ignores a report that is older than the last.
  // Returns false for one that no honest receiver sends.
  bool report(ReceiverKey key, std::uint64_t largest, std::span<const Interval> open);

  // The receiver lacks nothing that repairs could bring.
  void forget_needs(ReceiverKey key) { receivers_[key].open.clear(); }

  // Returns what to send now, oldest packets first, with at most `max_rows` in all. The result is
  // valid until the next call.
  std::span<const PlannedRepairs> plan(std::size_t max_rows);
  // Planned repairs have been sent in packets up to `last`.
  void sent(const PlannedRepairs& repairs, std::uint64_t last);
  // Packets of a planned set reach their receivers in another way, and are planned no more. Calls
  // `take(key, number)` for each.
  template <typename Take>
  void hand_over(const NamedSet& set, Take&& take) {
    for (const ReceiverKey key : active_) {
      Receiver& receiver = receivers_[key];
      for (const std::uint64_t number : set.numbers()) {
        if (!receiver.unserved.contains(number)) continue;
        take(key, number);
        remove(receiver.open, number);
      }
    }
  }

 private:
  struct Receiver {
    bool present = false;
    bool active = false;
    std::uint64_t largest = 0;
    IntervalSet open;
    IntervalSet unserved;  // of these, what rows on their way do not recover, and it may ask for
    std::uint64_t allowance = 0;   // in packets
    std::uint64_t counted_to = 0;  // packets below are in the allowance
  };
  struct SentRows {
    NamedSet set;
    std::size_t next_row;
    std::size_t rows;
    std::uint64_t last;
  };
  static constexpr std::size_t k_max_sent = 64;

  bool is_honest(std::uint64_t largest, std::span<const Interval> open) const;
  // Removes a number, and the highest interval if that makes too many. Returns how many were there.
  std::uint64_t remove(IntervalSet& intervals, std::uint64_t number) const;
  void add_allowance(Receiver& receiver) const;
  void drop_inactive();
  void serve(Receiver& receiver) const;
  void keep_affordable(Receiver& receiver) const;
  void count_wanted();
  void plan_set(const NamedSet& set, std::size_t max_rows);
  std::size_t next_row(const NamedSet& set) const;

  PlannerSettings settings_;
  std::uint64_t next_ = 0;
  std::uint64_t floor_ = 0;
  std::vector<Receiver> receivers_;
  std::vector<ReceiverKey> active_;    // those that lack something
  std::vector<std::uint64_t> wanted_;  // receivers that want floor() + i
  Ring<SentRows> sent_;
  std::vector<PlannedRepairs> planned_;
};

}  // namespace sheaf::quic::fec
