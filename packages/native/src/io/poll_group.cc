#include "io/poll_group.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sheaf::io {

// Lives until libuv has closed it, which is after the group is gone.
struct PollGroup::Handle {
  PollGroup* owner = nullptr;
  uv_poll_t poll{};
  int descriptor = -1;

  ~Handle() {
    if (descriptor >= 0) ::close(descriptor);
  }
};

quic::Result<std::unique_ptr<PollGroup>, SocketError> PollGroup::open(uv_loop_t* loop) {
  auto handle = std::make_unique<Handle>();
  handle->descriptor = epoll_create1(EPOLL_CLOEXEC);
  if (handle->descriptor < 0) return SocketError{errno, "cannot watch sockets"};
  if (const int error = uv_poll_init(loop, &handle->poll, handle->descriptor)) {
    return SocketError{-error, "cannot watch sockets"};
  }
  std::unique_ptr<PollGroup> made(new PollGroup);
  handle->owner = made.get();
  handle->poll.data = handle.get();
  uv_poll_start(&handle->poll, UV_READABLE, [](uv_poll_t* poll, int, int) {
    static_cast<Handle*>(poll->data)->owner->on_ready();
  });
  uv_unref(reinterpret_cast<uv_handle_t*>(&handle->poll));
  made->handle_ = handle.release();
  return made;
}

PollGroup::~PollGroup() {
  if (!handle_) return;
  uv_close(reinterpret_cast<uv_handle_t*>(&handle_->poll),
           [](uv_handle_t* closed) { delete static_cast<Handle*>(closed->data); });
}

quic::Status<SocketError> PollGroup::add(int descriptor, Member& member) {
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.ptr = &member;
  if (epoll_ctl(handle_->descriptor, EPOLL_CTL_ADD, descriptor, &wanted) == 0) return {};
  return SocketError{errno, "cannot watch a socket"};
}

void PollGroup::remove(int descriptor, Member& member) {
  epoll_ctl(handle_->descriptor, EPOLL_CTL_DEL, descriptor, nullptr);
  std::ranges::replace(ready_, &member, static_cast<Member*>(nullptr));
}

void PollGroup::on_ready() {
  std::array<epoll_event, k_ready_at_once> events;
  const int count =
      epoll_wait(handle_->descriptor, events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) ready_[i] = static_cast<Member*>(events[i].data.ptr);
  for (int i = 0; i < count; ++i) {
    if (Member* member = std::exchange(ready_[i], nullptr)) member->on_readable();
  }
}

}  // namespace sheaf::io
