#pragma once

#include <limits>

#include "channel/byte_rate.h"

namespace sheaf::quic {

// What all copies by unicast together may take of the network. A caller with several threads may
// give each of them a part.
class CopyBudget {
 public:
  static constexpr std::size_t k_any_number = std::numeric_limits<std::size_t>::max();

  // `burst`: copies that may leave at once after a pause. None is larger than `packet_size`.
  CopyBudget(std::uint64_t per_second, std::size_t packet_size, std::uint64_t burst)
      : rate_(per_second, burst * packet_size), packet_size_(packet_size), burst_(burst) {}

  // Whether another copy may leave now
  bool allows(Time now) const { return permitted_ > 0 && rate_.allows(now); }
  void spend(std::size_t bytes, Time now) {
    rate_.spend(bytes, now);
    if (permitted_ != k_any_number) --permitted_;
  }
  // When there is room for a copy, for many of them, and for a whole burst
  Time next() const { return rate_.next(); }
  Time many_at() const { return rate_.next(burst_ / 2 * packet_size_); }
  Time idle_at() const { return rate_.idle_at(); }
  // Returns for how many copies there is room, the last of which may exceed it.
  std::size_t room(Time now) const { return (rate_.room(now) + packet_size_ - 1) / packet_size_; }

  // Permits so many copies, whatever was permitted before. Without it, the rate alone counts.
  void permit(std::size_t copies) { permitted_ = copies; }
  // Returns how many of them are left.
  std::size_t permitted() const { return permitted_; }

 private:
  ByteRate rate_;
  std::size_t packet_size_;
  std::uint64_t burst_;
  std::size_t permitted_ = k_any_number;
};

}  // namespace sheaf::quic
