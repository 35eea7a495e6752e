#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "util/time.h"

namespace sheaf::quic {

// Controlled Delay (RFC 8289), for any queue that knows how long its oldest datagram has waited:
// acts when datagrams have waited longer than a target for a whole interval, and increasingly often
// until they wait less.
class CoDelLaw {
 public:
  // RFC 8289 §5.3.
  static constexpr Duration k_target = std::chrono::milliseconds(5);
  static constexpr Duration k_interval = std::chrono::milliseconds(100);

  // Returns whether the oldest datagram, which would leave now, has to be dropped or marked. After
  // a drop, ask again for the next one, or say that the queue is empty. `bytes` is the size of the
  // queue.
  bool acts_on(Duration waited, std::size_t bytes, Time now) {
    const bool stands = is_standing(waited, bytes, now);
    if (!dropping_) {
      if (stands) begin_dropping(now);
      return stands;
    }
    dropping_ = stands;
    if (!dropping_) return false;
    if (acted_) drop_next_ = next_drop_after(drop_next_);
    acted_ = now >= drop_next_;
    if (acted_) ++count_;
    return acted_;
  }
  void on_empty() {
    waits_until_ = k_never;
    dropping_ = false;
  }

 private:
  // RFC 8289 §5.6: a queue with at most one full packet is not standing.
  static constexpr std::size_t k_full_packet = 1500;

  // RFC 8289 §5.6 (dodequeue), evaluated before the datagram is removed
  bool is_standing(Duration waited, std::size_t bytes, Time now) {
    if (waited < k_target || bytes <= k_full_packet) {
      waits_until_ = k_never;
      return false;
    }
    if (waits_until_ == k_never) {
      waits_until_ = now + k_interval;
      return false;
    }
    return now >= waits_until_;
  }
  // Returns the time of the next drop. The interval shrinks with the square root of the number of
  // drops, under which the throughput of a loss-based sender falls linearly (RFC 8289 §5.6).
  Time next_drop_after(Time when) const {
    const double interval = static_cast<double>(k_interval.count()) / std::sqrt(count_);
    return when + Duration(static_cast<std::int64_t>(interval));
  }
  void begin_dropping(Time now) {
    dropping_ = true;
    acted_ = false;
    // RFC 8289 §5.5: soon after the last time, begin with the rate of drops that controlled the
    // queue then, rather than with 1.
    const std::uint32_t drops = count_ - last_count_;
    count_ = drops > 1 && now - drop_next_ < 16 * k_interval ? drops : 1;
    last_count_ = count_;
    drop_next_ = next_drop_after(now);
  }

  bool dropping_ = false;
  bool acted_ = false;          // at `drop_next_`, which has not moved on yet
  Time waits_until_ = k_never;  // an interval after the wait rose above the target
  Time drop_next_{};
  std::uint32_t count_ = 0;  // drops since dropping began
  std::uint32_t last_count_ = 0;
};

}  // namespace sheaf::quic
