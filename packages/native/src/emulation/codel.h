#pragma once

#include "emulation/link_queue.h"

namespace sheaf::quic {

// Controlled Delay (RFC 8289): drops from the front when datagrams have waited longer than a target
// for a whole interval, and increasingly often until they wait less. ECN-capable datagrams are
// marked instead.
class CoDel final : public QueueDiscipline {
 public:
  // RFC 8289 §5.3.
  static constexpr Duration k_target = std::chrono::milliseconds(5);
  static constexpr Duration k_interval = std::chrono::milliseconds(100);

  LinkDatagramPointer dequeue(LinkQueue& queue, Time now) override;

 private:
  // Returns whether the oldest datagram and those before it waited too long for a whole interval.
  bool should_drop(const LinkQueue& queue, Time now);
  Time next_drop_after(Time when) const;
  void begin_dropping(Time now);

  bool dropping_ = false;
  Time patience_end_ = k_never;  // an interval after the wait rose above the target
  Time drop_next_{};
  std::uint32_t count_ = 0;  // drops since dropping began
  std::uint32_t last_count_ = 0;
};

}  // namespace sheaf::quic
