#include "io/descriptor_watch.h"

#include <utility>

namespace sheaf::io {

// Lives until libuv has closed it, which is after the watch.
struct DescriptorWatch::Handle {
  uv_poll_t poll{};
  std::function<void(int)> on_readable;
  std::function<void()> done;

  void start() {
    uv_poll_start(&poll, UV_READABLE, [](uv_poll_t* handle, int status, int) {
      auto& self = *static_cast<Handle*>(handle->data);
      // libuv stops to watch a descriptor that failed. The function may close the watch.
      if (status < 0) self.start();
      self.on_readable(status);
    });
  }
};

DescriptorWatch::DescriptorWatch(uv_loop_t* loop, int descriptor,
                                 std::function<void(int)> on_readable)
    : handle_(new Handle) {
  error_ = uv_poll_init(loop, &handle_->poll, descriptor);
  if (error_ != 0) {
    delete std::exchange(handle_, nullptr);
    return;
  }
  handle_->poll.data = handle_;
  handle_->on_readable = std::move(on_readable);
  handle_->start();
}

void DescriptorWatch::unref() {
  if (handle_) uv_unref(reinterpret_cast<uv_handle_t*>(&handle_->poll));
}

void DescriptorWatch::close(std::function<void()> done) {
  Handle* handle = std::exchange(handle_, nullptr);
  if (!handle) {
    if (done) done();
    return;
  }
  handle->done = std::move(done);
  uv_close(reinterpret_cast<uv_handle_t*>(&handle->poll), [](uv_handle_t* closed) {
    auto* self = static_cast<Handle*>(closed->data);
    if (self->done) self->done();
    delete self;
  });
}

}  // namespace sheaf::io
