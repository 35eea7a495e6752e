#include "io/service_manager.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "io/descriptor.h"
#include "io/monotonic_clock.h"

namespace sheaf::io {

namespace {

struct ManagerAddress {
  sockaddr_un address{};
  socklen_t size = 0;
};

// Returns 0, or the number of an error.
int manager_address(std::string_view socket_name, ManagerAddress& to) {
  to.address.sun_family = AF_UNIX;
  if (socket_name.size() < 2 || (socket_name[0] != '/' && socket_name[0] != '@')) return EINVAL;
  if (socket_name.size() >= sizeof to.address.sun_path) return ENAMETOOLONG;
  std::memcpy(to.address.sun_path, socket_name.data(), socket_name.size());
  // The length of an abstract name counts: a zero at its end would be part of it.
  if (to.address.sun_path[0] == '@') to.address.sun_path[0] = '\0';
  to.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_name.size());
  return 0;
}

union DescriptorControl {
  cmsghdr alignment;
  char bytes[CMSG_SPACE(sizeof(int))];
};

// Adds a descriptor to a message (SCM_RIGHTS, unix(7)).
void write_descriptor(msghdr& message, DescriptorControl& control, int descriptor) {
  std::memset(&control, 0, sizeof control);
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
}

quic::Time after_ms(int wait_ms) { return monotonic_now() + std::chrono::milliseconds(wait_ms); }

// Returns how long to wait until then: at least a millisecond, since zero has other meanings.
int left_ms(quic::Time deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - monotonic_now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 1));
}

bool limit_sending(int descriptor, int wait_ms) {
  const timeval limit{.tv_sec = wait_ms / 1'000, .tv_usec = wait_ms % 1'000 * 1'000};
  return setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0;
}

// The kernel restarts no call with a limit of time after a signal (signal(7)).
template <typename Call>
int restarted_until(quic::Time deadline, Call&& call) {
  for (;;) {
    const int result = call(left_ms(deadline));
    if (result >= 0 || errno != EINTR) return result;
    if (monotonic_now() < deadline) continue;
    errno = EAGAIN;
    return result;
  }
}

int send_until(int descriptor, const msghdr& message, int wait_ms) {
  if (wait_ms <= 0)
    return sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno : 0;
  const int sent = restarted_until(after_ms(wait_ms), [&](int left) {
    if (!limit_sending(descriptor, left)) return -1;
    return static_cast<int>(sendmsg(descriptor, &message, MSG_NOSIGNAL));
  });
  return sent < 0 ? errno : 0;
}

}  // namespace

int notify_service_manager(std::string_view socket_name, std::string_view message) {
  return pass_to_service_manager(socket_name, message, -1, 0);
}

int pass_to_service_manager(std::string_view socket_name, std::string_view message, int descriptor,
                            int wait_ms) {
  ManagerAddress to;
  if (const int error = manager_address(socket_name, to)) return error;
  const Descriptor sender(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!sender.open()) return errno;
  iovec text{.iov_base = const_cast<char*>(message.data()), .iov_len = message.size()};
  msghdr sent{};
  sent.msg_name = &to.address;
  sent.msg_namelen = to.size;
  sent.msg_iov = &text;
  sent.msg_iovlen = 1;
  DescriptorControl control;
  if (descriptor >= 0) write_descriptor(sent, control, descriptor);
  return send_until(sender.number(), sent, wait_ms);
}

// The manager closes its copy of the descriptor once it has come to this message.
int await_service_manager(std::string_view socket_name, int wait_ms) {
  const quic::Time deadline = after_ms(wait_ms);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  const Descriptor ours(ends[0]);
  {
    const Descriptor theirs(ends[1]);
    if (const int error =
            pass_to_service_manager(socket_name, "BARRIER=1", theirs.number(), wait_ms))
      return error;
  }
  pollfd closed{.fd = ours.number(), .events = 0, .revents = 0};
  const int count = restarted_until(deadline, [&](int left) { return poll(&closed, 1, left); });
  if (count < 0 && errno != EAGAIN) return errno;
  return count > 0 ? 0 : ETIMEDOUT;
}

}  // namespace sheaf::io
