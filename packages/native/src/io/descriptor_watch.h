#pragma once

#include <uv.h>

#include <functional>

namespace sheaf::io {

// Calls a function of one owner whenever a descriptor is readable.
class DescriptorWatch {
 public:
  // The descriptor outlives the watch. `on_readable` is given an error as a negative number of
  // libuv when the descriptor failed; the watch goes on.
  DescriptorWatch(uv_loop_t* loop, int descriptor, std::function<void(int)> on_readable);
  ~DescriptorWatch() { close({}); }
  DescriptorWatch(const DescriptorWatch&) = delete;
  DescriptorWatch& operator=(const DescriptorWatch&) = delete;

  // Why there is no watch, as a negative number of libuv; 0 when there is one.
  int error() const { return error_; }
  // Does not keep the loop alive.
  void unref();
  // The descriptor may be closed afterwards. libuv frees its handle later, then calls `done`.
  void close(std::function<void()> done);

 private:
  struct Handle;

  int error_ = 0;
  Handle* handle_ = nullptr;
};

}  // namespace sheaf::io
