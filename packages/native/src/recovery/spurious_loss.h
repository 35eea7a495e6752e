#pragma once

#include <algorithm>
#include <vector>

#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// Packets that were declared lost but may still be acknowledged. Tells whether a congestion
// response was wrong, which is so when all its losses turn out to be spurious (RFC 9438 §4.9.2).
class SpuriousLoss {
 public:
  // Packet numbers mostly ascend from call to call.
  void on_lost(PacketNumber number) {
    if (empty() || number > lost_.back()) {
      lost_.push_back(number);
    } else {
      lost_.insert(std::upper_bound(begin(), lost_.cend(), number), number);
    }
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

  // Visits the lost numbers in [first, last]; the caller knows which of them have been settled
  // since.
  template <typename Visit>
  void for_each_lost(PacketNumber first, PacketNumber last, Visit&& visit) const {
    for (auto number = std::lower_bound(begin(), lost_.end(), first);
         number != lost_.end() && *number <= last; ++number) {
      visit(*number);
    }
  }
  void forget_before(PacketNumber number) {
    while (begin_ < lost_.size() && lost_[begin_] < number) ++begin_;
    // Moves the rest only when it is the smaller part, so that each number is moved at most once.
    if (2 * begin_ < lost_.size()) return;
    lost_.erase(lost_.begin(), begin());
    begin_ = 0;
  }
  bool empty() const { return begin_ == lost_.size(); }

 private:
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
