#include "io/socket_calls.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace sheaf::io {

SocketError socket_error(int number, const char* call, const quic::Address& address) {
  const char* name = strerrorname_np(number);
  return {number, std::string(call) + " " + to_string(address) + ": " +
                      (name != nullptr ? name : std::to_string(number)) + " (" +
                      std::strerror(number) + ")"};
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

bool set_option(int descriptor, int level, int option, int value) {
  return setsockopt(descriptor, level, option, &value, sizeof value) == 0;
}

void enlarge(int descriptor, SocketBuffer buffer) {
  constexpr int k_bytes = 4 << 20;
  const bool sends = buffer == SocketBuffer::kSend;
  // The privileged option may exceed net.core.rmem_max and wmem_max.
  if (set_option(descriptor, SOL_SOCKET, sends ? SO_SNDBUFFORCE : SO_RCVBUFFORCE, k_bytes)) return;
  set_option(descriptor, SOL_SOCKET, sends ? SO_SNDBUF : SO_RCVBUF, k_bytes);
}

void forbid_fragments(int descriptor, bool ipv6) {
  set_option(descriptor, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
  if (ipv6) set_option(descriptor, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
}

}  // namespace sheaf::io
