#pragma once

#include <uv.h>

#include <functional>
#include <memory>

#include "io/udp_socket.h"
#include "util/time.h"

namespace sheaf::io {

// A timer on a libuv loop, as exact as the system's clock, since pacing needs better than libuv's
// milliseconds. It does not keep the loop alive.
class DeadlineTimer {
 public:
  // `on_due` may destroy the timer. The loop outlives it.
  static quic::Result<std::unique_ptr<DeadlineTimer>, SocketError> open(
      uv_loop_t* loop, std::function<void()> on_due);
  ~DeadlineTimer() { close({}); }
  DeadlineTimer(const DeadlineTimer&) = delete;
  DeadlineTimer& operator=(const DeadlineTimer&) = delete;

  // In the time of `monotonic_now`; k_never stops it.
  void set(quic::Time deadline);
  // Stops at once. libuv frees the handle later, then calls `done`.
  void close(std::function<void()> done);

 private:
  struct Handle;

  DeadlineTimer() = default;
  void on_readable();

  Handle* handle_ = nullptr;
  quic::Time deadline_ = quic::k_never;
};

}  // namespace sheaf::io
