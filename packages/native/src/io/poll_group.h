#pragma once

#include <uv.h>

#include <array>
#include <memory>

#include "io/socket_calls.h"
#include "util/result.h"

struct epoll_event;

namespace sheaf::io {

// Watches many descriptors on a libuv loop by one handle, so that each of them costs no memory
// here, and leaves at once. Does not keep the loop alive.
class PollGroup {
 public:
  class Member {
   public:
    // Bytes or an error wait. May remove any member. Called again while they wait.
    virtual void on_readable() = 0;

   protected:
    ~Member() = default;
  };

  // The loop must outlive the group.
  static quic::Result<std::unique_ptr<PollGroup>, SocketError> open(uv_loop_t* loop);
  ~PollGroup();
  PollGroup(const PollGroup&) = delete;
  PollGroup& operator=(const PollGroup&) = delete;

  // The member must be removed before it is destroyed or its descriptor is closed.
  quic::Status<SocketError> add(int descriptor, Member& member);
  void remove(int descriptor, Member& member);

 private:
  struct Handle;
  static constexpr std::size_t k_ready_at_once = 64;

  PollGroup() = default;
  void on_ready();

  Handle* handle_ = nullptr;
  std::array<Member*, k_ready_at_once> ready_{};  // those that `on_ready` has yet to call
};

}  // namespace sheaf::io
