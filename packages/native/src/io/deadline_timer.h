#pragma once

#include <uv.h>

#include <functional>
#include <memory>

#include "io/udp_socket.h"
#include "util/time.h"

namespace sheaf::io {

// Runs a timer on a libuv loop with the resolution of the system's clock. libuv's milliseconds are
// too coarse for runs that shall arrive in an order. The timer does not keep the loop alive.
class DeadlineTimer {
 public:
  // `on_due` may destroy the timer. The loop must outlive it.
  static quic::Result<std::unique_ptr<DeadlineTimer>, SocketError> open(
      uv_loop_t* loop, std::function<void()> on_due);
  ~DeadlineTimer() { close({}); }
  DeadlineTimer(const DeadlineTimer&) = delete;
  DeadlineTimer& operator=(const DeadlineTimer&) = delete;

  // Sets the deadline in the time of `monotonic_now`. k_never stops the timer.
  void set(quic::Time deadline);
  // Stops the timer at once. libuv frees the handle later and then calls `done`.
  void close(std::function<void()> done);

 private:
  struct Handle;

  DeadlineTimer() = default;
  void arm(quic::Time deadline);
  void on_readable();

  Handle* handle_ = nullptr;
  quic::Time deadline_ = quic::k_never;
  quic::Time armed_ = quic::k_never;  // when the system's timer rings; may be before the deadline
};

}  // namespace sheaf::io
