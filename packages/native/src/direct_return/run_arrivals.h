#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "direct_return/run_messages.h"

namespace sheaf::quic {

// Which datagrams with runs a backend has of its gateway, by their numbers. One that is missing
// becomes void: its runs are never carried out, so the gateway may take them as refused, and a
// message that was lost costs its client no congestion window. A pure value.
class RunArrivals {
 public:
  // A datagram is void when so many later ones have come, or after this time. A run that others
  // have overtaken for longer would mostly be refused anyway, as numbers only rise.
  static constexpr std::size_t k_later = 3;
  static constexpr Duration k_patience = 2ms;
  // Each void datagram is told so often, with so much time between, as messages may be lost.
  static constexpr int k_tellings = 5;
  static constexpr Duration k_between_tellings = 5ms;
  // The bound of those that are missing, and of those to tell. More are void, and not told: the
  // gateway finds their packets by loss detection.
  static constexpr std::size_t k_most = 64;

  // A datagram without runs tells how many with runs were before it.
  void note(std::uint64_t before, Time now) {
    settle(now);
    const std::uint64_t lowest = before - std::min<std::uint64_t>(before, k_most);
    for (std::uint64_t lost = std::max(next_, lowest); lost < before; ++lost) {
      missing_.push_back({lost, 0, now + k_patience});
    }
    while (missing_.size() > k_most) missing_.pop_front();
    next_ = std::max(next_, before);
  }
  // Returns whether the runs of the datagram may be carried out: it is neither void nor known.
  bool take(std::uint64_t number, Time now) {
    note(number, now);
    if (number == next_) {
      ++next_;
    } else {
      const auto found = std::ranges::lower_bound(missing_, number, {}, &Missing::number);
      if (found == missing_.end() || found->number != number) return false;
      missing_.erase(found);
    }
    for (auto lower = missing_.begin(); lower != missing_.end() && lower->number < number;) {
      if (++lower->later < k_later) {
        ++lower;
        continue;
      }
      add_void(lower->number);
      lower = missing_.erase(lower);
    }
    return true;
  }
  // Returns the numbers of void datagrams that are to be told now, in one message.
  std::vector<VoidRuns> poll(Time now) {
    settle(now);
    std::vector<VoidRuns> told;
    if (void_.empty() || now < next_telling_) return told;
    for (Void& one : void_) {
      ++one.tellings;
      told.push_back({one.number});
    }
    std::erase_if(void_, [](const Void& one) { return one.tellings == k_tellings; });
    next_telling_ = now + k_between_tellings;
    return told;
  }
  // Returns when `poll` has something to tell.
  Time next() const {
    const Time settled = missing_.empty() ? k_never : missing_.front().dies;
    return void_.empty() ? settled : std::min(settled, next_telling_);
  }

 private:
  struct Missing {
    std::uint64_t number = 0;
    std::size_t later = 0;  // that have come
    Time dies;
  };
  struct Void {
    std::uint64_t number = 0;
    int tellings = 0;
  };

  // Gaps are noticed in the order of their numbers, so they also die in this order.
  void settle(Time now) {
    while (!missing_.empty() && now >= missing_.front().dies) {
      add_void(missing_.front().number);
      missing_.pop_front();
    }
  }
  void add_void(std::uint64_t number) {
    if (void_.size() == k_most) void_.pop_front();
    void_.push_back({number, 0});
    next_telling_ = Time::min();
  }

  std::uint64_t next_ = 0;       // above all that are known
  std::deque<Missing> missing_;  // by number
  std::deque<Void> void_;
  Time next_telling_ = Time::min();
};

}  // namespace sheaf::quic
