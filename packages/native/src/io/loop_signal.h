#pragma once

#include <uv.h>

#include <functional>
#include <memory>

namespace sheaf::io {

// Lets other threads wake a libuv loop. Does not keep the loop alive.
class LoopSignal {
 public:
  // `on_signal` runs on the loop, once for several signals in a row. The loop must outlive it.
  // Returns null when the system has no descriptor left.
  static std::unique_ptr<LoopSignal> open(uv_loop_t* loop, std::function<void()> on_signal);
  ~LoopSignal() { close({}); }
  LoopSignal(const LoopSignal&) = delete;
  LoopSignal& operator=(const LoopSignal&) = delete;

  // May be called by any thread, until `close`.
  void signal();
  // Stops at once. libuv frees the handle later and then calls `done`.
  void close(std::function<void()> done);

 private:
  struct Handle;

  LoopSignal() = default;
  Handle* handle_ = nullptr;
};

}  // namespace sheaf::io
