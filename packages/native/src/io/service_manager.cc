#include "io/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace sheaf::io {

int notify_service_manager(std::string_view socket_name, std::string_view message) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_name.size() < 2 || (socket_name[0] != '/' && socket_name[0] != '@')) return EINVAL;
  if (socket_name.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  std::memcpy(address.sun_path, socket_name.data(), socket_name.size());
  // The length of an abstract name counts: a zero at its end would be part of it.
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_name.size());
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return errno;
  const ssize_t sent = sendto(descriptor, message.data(), message.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address), size);
  const int error = sent < 0 ? errno : 0;
  close(descriptor);
  return error;
}

}  // namespace sheaf::io
