#pragma once

#include <cstdint>

#include "util/time.h"

namespace sheaf::quic {

// Credit for what the peer may send on a stream or on the connection, in bytes (RFC 9000 §4.1). The
// window doubles while it limits the peer:
// - half of it is consumed within two round trips;
// - all credit is used up, and the application has read everything: where the application reads in
//   turns of its own, credit takes longer to return than a round trip on the wire;
// - half of it is filled by bytes behind a gap, which nobody can read: the rest may not last until
//   the gap is closed, while a packet is in flight on the slowest path.
//
// An application that leaves bytes unread never grows it.
class ReceiveWindow {
 public:
  ReceiveWindow() = default;
  ReceiveWindow(std::uint64_t initial, std::uint64_t maximum);

  std::uint64_t limit() const { return limit_; }        // highest byte count that is allowed
  std::uint64_t received() const { return received_; }  // the highest offset counts
  std::uint64_t consumed() const { return consumed_; }
  std::uint64_t window() const { return window_; }

  // Returns whether the peer may send this many bytes. If other servers receive part of the limit
  // (docs/internals/multi-end.md), this side does not see all of it. Then it bounds what waits to
  // be consumed here, by the largest possible window.
  bool allows(std::uint64_t bytes) {
    const bool allowed =
        bytes <= (shared_ ? maximum_ - (received_ - consumed_) : limit_ + tolerance_ - received_);
    exceeded_ = !allowed;
    return allowed;
  }
  void share() { shared_ = true; }
  // Notes that several streams share the limit. Bytes left unread on some of them do not keep
  // credit from the others.
  void serve_streams() { serves_streams_ = true; }
  // Whether the latest check found too many bytes
  bool exceeded() const { return exceeded_; }
  // Tolerates one sender of several that used more than its part of the limit, by at most one
  // largest window: the others may send that much more.
  void tolerate() { tolerance_ = maximum_; }
  // Notes bytes that another server consumed, but at most what the peer was ever allowed. Returns
  // true when the limit moved and should be announced.
  bool consume_elsewhere(std::uint64_t bytes, Time now, Duration rtt);
  // Notes that the peer has given away all of `limit` to several senders, some of which do not use
  // their parts. The window doubles while little of it is unread. Returns true when the limit moved
  // and should be announced.
  bool on_blocked_elsewhere(std::uint64_t limit);
  void receive(std::uint64_t bytes, Time now) {
    if (received_ == 0) last_update_ = now;
    received_ += bytes;
  }
  // Gives credit back. `rtt` is zero while unmeasured, which prevents growth. Returns true when the
  // limit moved and should be announced.
  bool consume(std::uint64_t bytes, Time now, Duration rtt);
  // Notes bytes that wait behind a gap. Returns true when the limit moved and should be announced.
  bool wait(std::uint64_t bytes, Time now);
  // Returns the limit for a frame, with all the credit that is available by now.
  std::uint64_t announce() { return announced_ = move_limit(); }
  // Raises the connection's window to what one stream's window may be. Takes effect with the next
  // update.
  void widen(std::uint64_t window);
  // Sets a new maximum. The window shrinks to it as credit is used up, since announced credit stays
  // valid.
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
