#include "emulation/codel.h"

#include <cmath>

namespace sheaf::quic {

namespace {

// RFC 8289 §5.6: a queue with at most one full packet is not standing.
constexpr std::size_t k_full_packet = 1500;

}  // namespace

// RFC 8289 §5.5 (dequeue)
LinkDatagramPointer CoDel::dequeue(LinkQueue& queue, Time now) {
  bool drop = should_drop(queue, now);
  if (dropping_) {
    dropping_ = drop;
    while (dropping_ && now >= drop_next_) {
      ++count_;
      const bool marked = queue.mark_front();
      if (!marked) {
        queue.drop_front();
        dropping_ = should_drop(queue, now);
      }
      if (dropping_) drop_next_ = next_drop_after(drop_next_);
      if (marked) break;
    }
  } else if (drop) {
    if (!queue.mark_front()) {
      queue.drop_front();
      drop = should_drop(queue, now);
    }
    begin_dropping(now);
  }
  return queue.empty() ? nullptr : queue.pop();
}

bool CoDel::should_drop(const LinkQueue& queue, Time now) {
  // RFC 8289 §5.6 (dodequeue), evaluated before the datagram is removed
  if (queue.empty() || now - queue.front().queued_at < k_target || queue.bytes() <= k_full_packet) {
    patience_end_ = k_never;
    return false;
  }
  if (patience_end_ == k_never) {
    patience_end_ = now + k_interval;
    return false;
  }
  return now >= patience_end_;
}

// Returns the time of the next drop. The interval shrinks with the square root of the number of
// drops, under which the throughput of a loss-based sender falls linearly (RFC 8289 §5.6).
Time CoDel::next_drop_after(Time when) const {
  const double interval = static_cast<double>(k_interval.count()) / std::sqrt(count_);
  return when + Duration(static_cast<std::int64_t>(interval));
}

void CoDel::begin_dropping(Time now) {
  dropping_ = true;
  // RFC 8289 §5.5: soon after the last time, begin with the rate of drops that controlled the queue
  // then, rather than with 1.
  const std::uint32_t drops = count_ - last_count_;
  count_ = drops > 1 && now - drop_next_ < 16 * k_interval ? drops : 1;
  last_count_ = count_;
  drop_next_ = next_drop_after(now);
}

}  // namespace sheaf::quic
