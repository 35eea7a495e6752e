#pragma once

#include <algorithm>

#include "util/time.h"

namespace sheaf::quic {

// Spreads bytes over time: `per_second` of them on average, and up to `burst` at once after a
// pause.
class ByteRate {
 public:
  ByteRate(std::uint64_t per_second, std::uint64_t burst)
      : per_second_(std::max<std::uint64_t>(per_second, 1)), burst_(time_of(burst)) {}

  // Later bytes are spread anew.
  void change(std::uint64_t per_second, std::uint64_t burst) {
    const Time free_at = free_at_;
    *this = ByteRate(per_second, burst);
    free_at_ = free_at;
  }

  bool allows(Time now) const { return next() <= now; }
  // Returns when the next bytes may go.
  Time next() const { return free_at_ - burst_; }
  // Returns when so many may go at once. A caller that wakes then wakes seldom.
  Time next(std::uint64_t bytes) const { return next() + std::min(time_of(bytes), burst_); }
  // Returns when a whole burst may go again.
  Time idle_at() const { return free_at_; }
  void spend(std::size_t bytes, Time now) { free_at_ = std::max(free_at_, now) + time_of(bytes); }
  // Returns how many bytes may go at once, at least 1 when `allows`.
  std::size_t room(Time now) const {
    if (!allows(now)) return 0;
    const Duration spare = std::min(burst_, now - next());
    return 1 + static_cast<std::size_t>(to_seconds(spare) * static_cast<double>(per_second_));
  }

 private:
  Duration time_of(std::uint64_t bytes) const {
    return Duration(static_cast<std::int64_t>(static_cast<double>(bytes) * 1e9 /
                                              static_cast<double>(per_second_)));
  }

  std::uint64_t per_second_;
  Duration burst_;
  Time free_at_{};
};

}  // namespace sheaf::quic
