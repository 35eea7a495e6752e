#pragma once

#include <uv.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

namespace sheaf::io {

// A libuv loop in a thread of its own, which works on while the thread that opened it is busy
class LoopThread {
 public:
  // Returns null when the system has no descriptor or no thread left.
  static std::unique_ptr<LoopThread> open();
  // All handles of the loop must be closed. Waits until libuv has freed them.
  ~LoopThread();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  // For jobs of this thread alone
  uv_loop_t* loop() { return &loop_; }
  // Runs a job in the thread, and waits for its end. For one other thread at a time.
  void run(const std::function<void()>& job);

 private:
  LoopThread() = default;
  void on_signal();

  std::mutex mutex_;
  std::condition_variable done_;
  const std::function<void()>* job_ = nullptr;  // null when none waits
  uv_loop_t loop_{};
  uv_async_t signal_{};
  uv_thread_t thread_{};
  bool opened_ = false;  // whether the loop and its signal are there
  bool runs_ = false;
};

}  // namespace sheaf::io
