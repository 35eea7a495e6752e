#pragma once

#include <algorithm>

#include "util/time.h"

namespace sheaf::quic {

// Tells whether packets of a backend reach the client. Only what the client acknowledges counts: it
// must have missed packets of the backend several times, and acknowledged others' packets that left
// after them. So it does not matter how late anybody acts. A pure value; one for each backend of a
// connection.
class SenderWatch {
 public:
  static constexpr int k_misses = 3;
  static constexpr int k_probe_timeouts = 3;
  // The least that these probe timeouts last: a busy client drops packets when its socket is full.
  static constexpr Duration k_least_wait = 150ms;
  // Who has reached the client passes all filters of sources. Then losses and a change of the
  // client's address are likelier than a way that is cut.
  static constexpr Duration k_least_wait_if_reached = 2s;

  // Notes that the backend reports to have sent packets with numbers up to below `end`. The client
  // may have acknowledged them before.
  void on_executed(std::uint64_t end, Time now) {
    if (end <= std::max(executed_end_, acknowledged_end_)) return;
    executed_end_ = end;
    first_at_ = std::min(first_at_, now);
    round_at_ = std::min(round_at_, now);
  }
  // Notes that the client acknowledged packets of this backend, with numbers up to below `end`.
  void on_acknowledged(std::uint64_t end) {
    acknowledged_end_ = std::max(acknowledged_end_, end);
    reached_ = true;
    first_at_ = round_at_ = k_never;
    misses_ = 0;
  }
  // Notes that the client acknowledged a packet that another sender sent at this time.
  void on_other_acknowledged(Time sent_at) {
    other_sent_at_ = std::max(other_sent_at_, sent_at);
    if (sent_at <= round_at_) return;
    round_at_ = k_never;
    ++misses_;
  }

  // Forgets what was sent so far.
  void restart() {
    const bool reached = reached_;
    *this = {};
    reached_ = reached;
  }

  // An ACK alone changes it.
  bool unreachable(Duration probe_timeout) const {
    const Duration wait = std::max<Duration>(k_probe_timeouts * probe_timeout,
                                             reached_ ? k_least_wait_if_reached : k_least_wait);
    return misses_ >= k_misses && other_sent_at_ >= first_at_ + wait;
  }

 private:
  std::uint64_t executed_end_ = 0;
  std::uint64_t acknowledged_end_ = 0;
  bool reached_ = false;     // any of its packets, on this connection
  Time first_at_ = k_never;  // report of the first packet after the last ACK of one
  Time round_at_ = k_never;  // report of the first packet after the last miss
  Time other_sent_at_ = Time::min();
  int misses_ = 0;  // since the last ACK
};

}  // namespace sheaf::quic
