#pragma once

#include <algorithm>

#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// RFC 9000 §10.1: idle timeout and keep-alive.
class IdleTimer {
 public:
  // A server keeps a connection for longer than it announced. The client's timer begins later: when
  // the last packet arrives there, or as late as the client is. What it asks before its timer ends
  // would find no connection (RFC 9000 §10.1.2), and Chromium does without 0-RTT, or without QUIC,
  // once a server has reset a connection that it used.
  static constexpr Duration k_server_margin = std::chrono::seconds(1);

  IdleTimer(Role role, Duration timeout, Duration keep_alive, Time now)
      : margin_(role == Role::kServer ? k_server_margin : Duration::zero()),
        timeout_(timeout),
        keep_alive_(keep_alive),
        last_activity_(now) {}

  // Zero = the peer has none; the smaller one of both sides counts.
  void set_peer_timeout(Duration peer) {
    if (peer != Duration::zero() && (timeout_ == Duration::zero() || peer < timeout_)) {
      timeout_ = peer;
    }
  }
  void on_received(Time now) {
    on_heard_elsewhere(now);
    last_received_ = now;
  }
  // docs/internals/multi-end.md: another of the connection's servers has received something.
  void on_heard_elsewhere(Time now) {
    last_activity_ = now;
    sent_since_received_ = false;
  }
  // By this server itself; before anything was, the beginning of time.
  Time last_received() const { return last_received_; }
  // Only the first ack-eliciting packet after one was received restarts the timer.
  void on_ack_eliciting_sent(Time now) {
    if (!sent_since_received_) last_activity_ = now;
    sent_since_received_ = true;
    last_sent_ = now;
  }
  // Zero: none.
  Duration timeout() const { return timeout_; }
  // `probe_timeout`: the connection must survive three of them.
  Time deadline(Duration probe_timeout) const {
    if (timeout_ == Duration::zero()) return k_never;
    return last_activity_ + std::max(timeout_, 3 * probe_timeout) + margin_;
  }
  // A PING is on its way, or waits for room: not again before another interval.
  void on_ping(Time now) { last_sent_ = now; }
  Time keep_alive_deadline() const {
    if (keep_alive_ == Duration::zero()) return k_never;
    return std::max(last_activity_, last_sent_) + keep_alive_;
  }

 private:
  Duration margin_;
  Duration timeout_;
  Duration keep_alive_;
  Time last_activity_;
  Time last_received_{};
  Time last_sent_{};
  bool sent_since_received_ = false;
};

}  // namespace sheaf::quic
