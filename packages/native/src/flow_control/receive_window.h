#pragma once

#include <cstdint>

#include "util/time.h"

namespace sheaf::quic {

// What we let the peer send on a stream or on the connection, in bytes (RFC 9000 §4.1). The window
// doubles while it is what limits the peer:
// - half of it is consumed within two round trips;
// - all credit is used up, and the application has read all that came: a round trip on the wire is
//   not what credit takes to come back where the application reads in turns of its own;
// - half of it is filled by bytes behind a gap, which nobody can read: the rest may not last until
//   the gap is closed, while one packet is in flight on the slowest path.
// An application that leaves bytes unread never grows it.
class ReceiveWindow {
 public:
  ReceiveWindow() = default;
  ReceiveWindow(std::uint64_t initial, std::uint64_t maximum);

  std::uint64_t limit() const { return limit_; }        // highest byte count that is allowed
  std::uint64_t received() const { return received_; }  // counted by highest offset
  std::uint64_t consumed() const { return consumed_; }
  std::uint64_t window() const { return window_; }

  // Where other servers receive part of what the limit allows (docs/internals/multi-end.md), nobody
  // here sees all of it: what waits to be consumed here is bounded by the largest window there can
  // be.
  bool allows(std::uint64_t bytes) {
    const bool allowed =
        bytes <= (shared_ ? maximum_ - (received_ - consumed_) : limit_ + tolerance_ - received_);
    exceeded_ = !allowed;
    return allowed;
  }
  void share() { shared_ = true; }
  // Several streams receive what the limit allows: what is left unread on some of them does not
  // keep credit from the others.
  void serve_streams() { serves_streams_ = true; }
  // The last bytes that were asked about were too many.
  bool exceeded() const { return exceeded_; }
  // One of several senders used more than its part of the limit, at most one largest window: so
  // much more may come from the others.
  void tolerate() { tolerance_ = maximum_; }
  // Another server consumed so much; more than the peer was ever allowed is not believed. True when
  // the limit moved and should be announced.
  bool consume_elsewhere(std::uint64_t bytes, Time now, Duration rtt);
  // The peer has given away all of `limit`, to several senders of which some do not use theirs: the
  // window doubles, as long as little of it is unread. True when the limit moved and should be
  // announced.
  bool on_blocked_elsewhere(std::uint64_t limit);
  void receive(std::uint64_t bytes, Time now) {
    if (received_ == 0) last_update_ = now;
    received_ += bytes;
  }
  // Gives credit back. `rtt` is zero while unmeasured: no growth then. True when the limit moved
  // and should be announced.
  bool consume(std::uint64_t bytes, Time now, Duration rtt);
  // So many bytes wait behind a gap. True when the limit moved and should be announced.
  bool wait(std::uint64_t bytes, Time now);
  // The limit to put into a frame: all the credit there is by now.
  std::uint64_t announce() { return announced_ = move_limit(); }
  // The connection's window must carry what one stream's may. Takes effect with the next update.
  void widen(std::uint64_t window);
  // A new upper end. The window shrinks to it as credit is used up: what was announced stays.
  void set_maximum(std::uint64_t maximum);

 private:
  std::uint64_t move_limit();
  bool exhausted() const { return consumed_ == received_ && received_ == announced_; }
  std::uint64_t consumed_everywhere() const { return consumed_ + elsewhere_; }
  bool give_credit_back(Time now, Duration rtt);
  bool held_up_by_unread(std::uint64_t consumed) const;

  std::uint64_t limit_ = 0;
  std::uint64_t announced_ = 0;  // that the peer was told last
  std::uint64_t received_ = 0;
  std::uint64_t consumed_ = 0;
  std::uint64_t elsewhere_ = 0;  // consumed by other servers
  std::uint64_t window_ = 0;
  std::uint64_t maximum_ = 0;
  Time last_update_{};
  std::uint64_t tolerance_ = 0;
  bool shared_ = false;
  bool serves_streams_ = false;
  bool exceeded_ = false;
};

}  // namespace sheaf::quic
