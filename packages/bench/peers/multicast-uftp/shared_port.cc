// Loaded into uftpd: lets several receivers of one host take packets of one group. uftpd does not
// say SO_REUSEADDR, without which a second one cannot have the port. A group's packets then reach
// each of them, and the sender sends nothing else (socket(7), ip(7)).
#include <dlfcn.h>
#include <sys/socket.h>

extern "C" int bind(int descriptor, const sockaddr* address, socklen_t length) {
  using Bind = int (*)(int, const sockaddr*, socklen_t);
  static const auto next = reinterpret_cast<Bind>(dlsym(RTLD_NEXT, "bind"));
  constexpr int on = 1;
  if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) return -1;
  return next(descriptor, address, length);
}
