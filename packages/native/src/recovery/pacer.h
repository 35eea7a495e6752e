#pragma once

#include <algorithm>
#include <cstdint>

#include "util/time.h"

namespace sheaf::quic {

// A token bucket as RFC 9002 §7.7 suggests. A burst is the initial window of ten datagrams or the
// bytes that the rate yields in two milliseconds, whichever is more: event loops wake up by
// milliseconds.
class Pacer {
 public:
  // `rate` is in bytes per second; 0 and UINT64_MAX mean no pacing. Bytes saved up at the old rate
  // are kept.
  void set_rate(std::uint64_t rate, std::uint64_t max_datagram_size, Time now);
  // Returns the number of bytes that may leave now.
  std::uint64_t budget(Time now) const {
    if (rate_ == 0) return UINT64_MAX;
    const std::int64_t saved = std::min((now - empty_at_).count(), full_after_.count());
    return saved <= 0 ? 0 : static_cast<std::uint64_t>(saved) * rate_ / k_second;
  }
  // Returns the largest budget that there ever is.
  std::uint64_t burst() const {
    if (rate_ == 0) return UINT64_MAX;
    return static_cast<std::uint64_t>(full_after_.count()) * rate_ / k_second;
  }
  // May overdraw the bucket: bytes that must leave at once make the next ones wait.
  void on_sent(std::uint64_t bytes, Time now) {
    if (rate_ != 0) empty_at_ = std::max(empty_at_, now - full_after_) + time_for(bytes);
  }
  // Returns when at least one datagram may leave.
  Time next_send_time(Time now) const { return time_of(datagram_, now); }
  // Returns when this many bytes may leave, of at most a burst.
  Time time_of(std::uint64_t bytes, Time now) const {
    return rate_ == 0 ? now : std::max(now, empty_at_ + std::min(time_for(bytes), full_after_));
  }
  static constexpr std::uint64_t k_no_limit = UINT64_MAX;
  // Bounds bursts to a number of datagrams from now on.
  void limit_bursts(std::uint64_t datagrams) {
    longest_burst_ = datagrams;
    if (rate_ != 0) set_burst();
  }

 private:
  static constexpr std::uint64_t k_second = 1'000'000'000;

  // Rounds up, so that waiting for this time is enough.
  Duration time_for(std::uint64_t bytes) const {
    return Duration(static_cast<std::int64_t>((bytes * k_second + rate_ - 1) / rate_));
  }

  void set_burst();

  std::uint64_t rate_ = 0;
  std::uint64_t datagram_ = 0;
  std::uint64_t longest_burst_ = k_no_limit;  // datagrams
  // The bucket expressed as times: the moment at which it was or will be empty, and the time in
  // which it fills up.
  Time empty_at_{};
  Duration full_after_{};
};

}  // namespace sheaf::quic
