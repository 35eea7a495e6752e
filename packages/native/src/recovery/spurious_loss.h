#pragma once

#include <algorithm>
#include <vector>

#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// Packets that were declared lost but may still be acknowledged, and whether a congestion response
// was wrong: all losses that belong to it turned out spurious (RFC 9438 §4.9.2).
class SpuriousLoss {
 public:
  // Packet numbers ascend from call to call.
  void on_lost(PacketNumber number) { lost_.push_back(number); }
  // A loss that the congestion controller is told of. It responds once to all losses of packets
  // sent before its last response (RFC 9002 §7.3.2), and so they form one episode.
  void on_congestion(Time sent, Time now) {
    if (sent > start_) {
      previous_start_ = start_;
      start_ = now;
      unrefuted_ = 0;
    }
    if (sent > previous_start_) ++unrefuted_;
  }
  // A loss given to `on_congestion` was spurious. True when it was the episode's last one.
  bool refute(Time sent) {
    if (sent <= previous_start_ || sent > start_ || unrefuted_ == 0) return false;
    return --unrefuted_ == 0;
  }

  // Lost numbers in [first, last]; the caller's own state tells which are settled since.
  template <typename Visit>
  void for_each_lost(PacketNumber first, PacketNumber last, Visit&& visit) const {
    for (auto number = std::lower_bound(begin(), lost_.end(), first);
         number != lost_.end() && *number <= last; ++number) {
      visit(*number);
    }
  }
  void forget_before(PacketNumber number) {
    while (begin_ < lost_.size() && lost_[begin_] < number) ++begin_;
    // Moves the rest only when it is the smaller part, so that each number is moved once at most.
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
