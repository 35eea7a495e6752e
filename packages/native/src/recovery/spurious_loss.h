#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// Packets that were declared lost but may still be acknowledged. Tells whether a congestion
// response was wrong, which is so when all its losses turn out to be spurious (RFC 9438 §4.9.2).
class SpuriousLoss {
 public:
  // `numbers` ascend, and mostly lie above those of earlier calls.
  void on_lost(std::span<const PacketNumber> numbers) {
    const bool above = empty() || numbers.empty() || lost_.back() < numbers.front();
    const auto middle = static_cast<std::ptrdiff_t>(lost_.size());
    lost_.insert(lost_.end(), numbers.begin(), numbers.end());
    if (above) return;
    std::inplace_merge(lost_.begin() + static_cast<std::ptrdiff_t>(begin_), lost_.begin() + middle,
                       lost_.end());
  }
  // Records a loss that was reported to the congestion controller. The controller responds once to
  // all losses of packets sent before its last response (RFC 9002 §7.3.2), so these losses form one
  // episode.
  void on_congestion(Time sent, Time now) {
    if (sent > start_) {
      previous_start_ = start_;
      start_ = now;
      unrefuted_ = 0;
    }
    if (sent > previous_start_) ++unrefuted_;
  }
  // Takes back a loss given to `on_congestion` that was spurious. Returns true when it was the last
  // loss of the episode.
  bool refute(Time sent) {
    if (sent <= previous_start_ || sent > start_ || unrefuted_ == 0) return false;
    return --unrefuted_ == 0;
  }

  // Visits the lost numbers in [first, last], and forgets them, so that no number is visited twice.
  template <typename Visit>
  void take(PacketNumber first, PacketNumber last, Visit&& visit) {
    const auto from = std::lower_bound(begin(), lost_.cend(), first);
    const auto to = std::upper_bound(from, lost_.cend(), last);
    std::for_each(from, to, visit);
    if (from == begin()) {
      begin_ += static_cast<std::size_t>(to - from);
      compact();
    } else {
      lost_.erase(from, to);
    }
  }
  void forget_before(PacketNumber number) {
    while (begin_ < lost_.size() && lost_[begin_] < number) ++begin_;
    compact();
  }
  bool empty() const { return begin_ == lost_.size(); }

 private:
  // Moves the rest only when it is the smaller part, so that each number is moved at most once.
  void compact() {
    if (2 * begin_ < lost_.size()) return;
    lost_.erase(lost_.begin(), begin());
    begin_ = 0;
  }
  std::vector<PacketNumber>::const_iterator begin() const {
    return lost_.begin() + static_cast<std::ptrdiff_t>(begin_);
  }

  std::vector<PacketNumber> lost_;
  std::size_t begin_ = 0;
  Time previous_start_ = Time::min();
  Time start_ = Time::min();
  std::uint64_t unrefuted_ = 0;
};

}  // namespace sheaf::quic
