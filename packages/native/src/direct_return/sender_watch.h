#pragma once

#include <algorithm>

#include "util/time.h"

namespace sheaf::quic {

// Tells whether a backend still serves a connection: whether it lives, and whether its packets
// reach the client. A pure value; one for each backend of a connection.
class SenderWatch {
 public:
  enum class Verdict : std::uint8_t {
    kFine,
    kSilent,       // no word for k_silence
    kUnreachable,  // sends, and the client acknowledges others' packets alone
  };
  // Backends that have nothing to say send a PING three times as often.
  static constexpr Duration k_silence = 600ms;
  static constexpr int k_probe_timeouts = 3;
  // The least that these probe timeouts last: a busy machine lets its processes wait for longer
  // than the round trip of a near client.
  static constexpr Duration k_least_wait = 150ms;
  // Who has reached the client passes all filters of sources. Then losses and a change of the
  // client's address are likelier than a way that is cut.
  static constexpr Duration k_least_wait_if_reached = 2s;

  // Notes that the backend reports to have sent packets with numbers up to below `end`. The client
  // may have acknowledged them before.
  void on_executed(std::uint64_t end, Time now) {
    if (end <= std::max(executed_end_, acknowledged_end_)) return;
    executed_end_ = end;
    if (unacknowledged_since_ == k_never) unacknowledged_since_ = now;
  }
  // Notes that the client acknowledged packets of this backend, with numbers up to below `end`.
  void on_acknowledged(std::uint64_t end) {
    acknowledged_end_ = std::max(acknowledged_end_, end);
    reached_ = true;
    unacknowledged_since_ = k_never;
  }
  // Notes that the client acknowledged a packet of another sender.
  void on_other_acknowledged(Time now) { other_acknowledged_at_ = now; }

  // Forgets what was sent so far.
  void restart() {
    const bool reached = reached_;
    *this = {};
    reached_ = reached;
  }

  // `last_word` is when anything came from the backend, for any connection, or when it was first
  // given a grant.
  Verdict verdict(Time last_word, Duration probe_timeout, Time now) const {
    if (now - last_word >= k_silence) return Verdict::kSilent;
    return is_unreachable(probe_timeout, now) ? Verdict::kUnreachable : Verdict::kFine;
  }
  // Returns when to ask for the verdict again. An ACK of others' packets may change it at once.
  Time deadline(Time last_word, Duration probe_timeout) const {
    const Time way =
        unacknowledged_since_ == k_never ? k_never : unacknowledged_since_ + wait(probe_timeout);
    const bool alive = other_acknowledged_at_ > unacknowledged_since_;
    return alive ? std::min(last_word + k_silence, way) : last_word + k_silence;
  }

 private:
  Duration wait(Duration probe_timeout) const {
    return std::max<Duration>(k_probe_timeouts * probe_timeout,
                              reached_ ? k_least_wait_if_reached : k_least_wait);
  }
  // A client that acknowledges nobody is itself gone, or asleep.
  bool is_unreachable(Duration probe_timeout, Time now) const {
    return unacknowledged_since_ != k_never && other_acknowledged_at_ > unacknowledged_since_ &&
           now - unacknowledged_since_ >= wait(probe_timeout);
  }

  std::uint64_t executed_end_ = 0;
  std::uint64_t acknowledged_end_ = 0;
  bool reached_ = false;                 // any of its packets, on this connection
  Time unacknowledged_since_ = k_never;  // since its first packet after the last ACK of one
  Time other_acknowledged_at_ = Time::min();
};

}  // namespace sheaf::quic
