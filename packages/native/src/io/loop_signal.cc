#include "io/loop_signal.h"

#include <utility>

namespace sheaf::io {

// Lives until libuv has closed it, which is after the signal is gone.
struct LoopSignal::Handle {
  std::function<void()> on_signal;
  uv_async_t async{};
  std::function<void()> done;
};

std::unique_ptr<LoopSignal> LoopSignal::open(uv_loop_t* loop, std::function<void()> on_signal) {
  auto handle = std::make_unique<Handle>();
  handle->on_signal = std::move(on_signal);
  handle->async.data = handle.get();
  const int error = uv_async_init(loop, &handle->async, [](uv_async_t* async) {
    static_cast<Handle*>(async->data)->on_signal();
  });
  if (error != 0) return nullptr;
  uv_unref(reinterpret_cast<uv_handle_t*>(&handle->async));
  std::unique_ptr<LoopSignal> made(new LoopSignal);
  made->handle_ = handle.release();
  return made;
}

void LoopSignal::signal() { uv_async_send(&handle_->async); }

void LoopSignal::close(std::function<void()> done) {
  Handle* handle = std::exchange(handle_, nullptr);
  if (!handle) {
    if (done) done();
    return;
  }
  handle->on_signal = [] {};
  handle->done = std::move(done);
  uv_close(reinterpret_cast<uv_handle_t*>(&handle->async), [](uv_handle_t* closed) {
    const std::unique_ptr<Handle> owned(static_cast<Handle*>(closed->data));
    if (owned->done) owned->done();
  });
}

}  // namespace sheaf::io
