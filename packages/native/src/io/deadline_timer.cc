#include "io/deadline_timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "io/monotonic_clock.h"

namespace sheaf::io {

namespace {

constexpr quic::Duration k_soon = std::chrono::milliseconds(1);

}  // namespace

// Lives until libuv has closed it, which is after the timer is gone.
struct DeadlineTimer::Handle {
  DeadlineTimer* owner = nullptr;
  std::function<void()> on_due;
  uv_poll_t poll{};
  int descriptor = -1;
  std::function<void()> done;

  ~Handle() {
    if (descriptor >= 0) ::close(descriptor);
  }
};

quic::Result<std::unique_ptr<DeadlineTimer>, SocketError> DeadlineTimer::open(
    uv_loop_t* loop, std::function<void()> on_due) {
  auto handle = std::make_unique<Handle>();
  handle->descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (handle->descriptor < 0) return SocketError{errno, "cannot make a timer"};
  if (const int error = uv_poll_init(loop, &handle->poll, handle->descriptor)) {
    return SocketError{-error, "cannot watch a timer"};
  }
  std::unique_ptr<DeadlineTimer> made(new DeadlineTimer);
  handle->owner = made.get();
  handle->on_due = std::move(on_due);
  handle->poll.data = handle.get();
  uv_poll_start(&handle->poll, UV_READABLE, [](uv_poll_t* poll, int, int) {
    static_cast<Handle*>(poll->data)->owner->on_readable();
  });
  uv_unref(reinterpret_cast<uv_handle_t*>(&handle->poll));
  made->handle_ = handle.release();
  return made;
}

void DeadlineTimer::set(quic::Time deadline) {
  if (deadline == deadline_) return;
  deadline_ = deadline;
  // Most deadlines move away with every turn. A timer that rings too soon, once, costs less than
  // setting it each time, if it does not ring at once.
  if (armed_ <= deadline && armed_ > monotonic_now() + k_soon) return;
  arm(deadline);
}

void DeadlineTimer::arm(quic::Time deadline) {
  if (armed_ == deadline) return;
  armed_ = deadline;
  itimerspec when{};
  if (deadline != quic::k_never) {
    // A value of zero would disarm the timer.
    const auto nanoseconds = std::max<std::int64_t>(deadline.time_since_epoch().count(), 1);
    when.it_value.tv_sec = nanoseconds / 1'000'000'000;
    when.it_value.tv_nsec = nanoseconds % 1'000'000'000;
  }
  timerfd_settime(handle_->descriptor, TFD_TIMER_ABSTIME, &when, nullptr);
}

void DeadlineTimer::on_readable() {
  std::uint64_t expirations = 0;
  // Set anew since the loop has seen that it rang.
  if (read(handle_->descriptor, &expirations, sizeof expirations) < 0) return;
  armed_ = quic::k_never;
  if (monotonic_now() < deadline_) {
    arm(deadline_);
    return;
  }
  deadline_ = quic::k_never;
  handle_->on_due();
}

void DeadlineTimer::close(std::function<void()> done) {
  Handle* handle = std::exchange(handle_, nullptr);
  if (!handle) {
    if (done) done();
    return;
  }
  handle->done = std::move(done);
  uv_close(reinterpret_cast<uv_handle_t*>(&handle->poll), [](uv_handle_t* closed) {
    const std::unique_ptr<Handle> self(static_cast<Handle*>(closed->data));
    if (self->done) self->done();
  });
}

}  // namespace sheaf::io
