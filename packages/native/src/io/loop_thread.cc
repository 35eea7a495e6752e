#include "io/loop_thread.h"

#include <utility>

namespace sheaf::io {

std::unique_ptr<LoopThread> LoopThread::open() {
  std::unique_ptr<LoopThread> made(new LoopThread);
  if (uv_loop_init(&made->loop_) != 0) return nullptr;
  made->signal_.data = made.get();
  const int error = uv_async_init(&made->loop_, &made->signal_, [](uv_async_t* signal) {
    static_cast<LoopThread*>(signal->data)->on_signal();
  });
  if (error != 0) {
    uv_loop_close(&made->loop_);
    return nullptr;
  }
  made->opened_ = true;
  made->runs_ =
      uv_thread_create(
          &made->thread_, [](void* loop) { uv_run(static_cast<uv_loop_t*>(loop), UV_RUN_DEFAULT); },
          &made->loop_) == 0;
  return made->runs_ ? std::move(made) : nullptr;
}

LoopThread::~LoopThread() {
  if (!opened_) return;
  // The loop ends with its last handle.
  const auto end = [this] { uv_close(reinterpret_cast<uv_handle_t*>(&signal_), nullptr); };
  if (runs_) {
    run(end);
    uv_thread_join(&thread_);
  } else {
    end();
    uv_run(&loop_, UV_RUN_DEFAULT);
  }
  uv_loop_close(&loop_);
}

void LoopThread::run(const std::function<void()>& job) {
  std::unique_lock lock(mutex_);
  job_ = &job;
  uv_async_send(&signal_);
  done_.wait(lock, [this] { return job_ == nullptr; });
}

void LoopThread::on_signal() {
  const std::lock_guard lock(mutex_);
  if (!job_) return;
  (*job_)();
  job_ = nullptr;
  done_.notify_one();
}

}  // namespace sheaf::io
