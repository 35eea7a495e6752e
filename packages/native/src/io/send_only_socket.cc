#include "io/send_only_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "io/socket_address.h"

namespace sheaf::io {

using quic::Address;

namespace {

using Opened = quic::Result<std::unique_ptr<SendOnlySocket>, SocketError>;

constexpr int k_time_to_live = 64;

// Returns what to do about an error, or nothing when its name says all.
std::string remedy(int error, const Address& from, SendWay way) {
  const bool ipv6 = from.family == Address::Family::kIpv6;
  switch (error) {
    case EADDRNOTAVAIL:
      return "no interface has it: run `ip addr add " + ip_string(from) + (ipv6 ? "/128" : "/32") +
             " dev lo`, or send as `transparent`";
    case EPERM:
      return "give the process CAP_NET_RAW or CAP_NET_ADMIN, or add the address to this host and "
             "send as `own-address`";
    case EACCES:
      return "a port below 1024 needs CAP_NET_BIND_SERVICE, or `sysctl "
             "net.ipv4.ip_unprivileged_port_start=" +
             std::to_string(from.port) + "`";
    case EADDRINUSE:
      return "another socket of this host has it, and does not share it (SO_REUSEPORT) or belongs "
             "to another user";
    case ENOPROTOOPT:
      return "the kernel cannot segment UDP datagrams: use Linux 4.18 or newer";
    case EINVAL:
      return "name one IP address and a port";
    default:
      return way == SendWay::kTransparent && error == ENETUNREACH
                 ? "the loopback interface is down: run `ip link set lo up`"
                 : "";
  }
}

SocketError explain(int error, const char* call, const Address& from, SendWay way) {
  SocketError out = socket_error(error, call, from);
  const std::string fix = remedy(error, from, way);
  if (!fix.empty()) out.message += ". Fix: " + fix;
  return out;
}

bool is_whole(const Address& address) {
  return address.family != Address::Family::kNone && address.port != 0 &&
         address.ip != std::array<std::uint8_t, 16>{};
}

// A peer from which nothing comes. A connected socket receives from its peer alone, and the kernel
// gives packets of all others to other sockets of the port. `sendmsg` reaches any address.
Address no_peer(bool ipv6) { return *parse_address(ipv6 ? "::1" : "127.0.0.1", 1); }

bool is_udp(int descriptor) {
  int protocol = 0;
  socklen_t length = sizeof protocol;
  return getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 &&
         protocol == IPPROTO_UDP;
}

}  // namespace

Opened SendOnlySocket::open(const Address& from, SendWay way) {
  const auto failed = [&](const char* call) { return explain(errno, call, from, way); };
  if (!is_whole(from)) return explain(EINVAL, "send from", from, way);
  const bool ipv6 = from.family == Address::Family::kIpv6;
  const int descriptor = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return failed("socket");
  std::unique_ptr<SendOnlySocket> made(new SendOnlySocket(descriptor, ipv6, from));
  if (!made->sender_.segments()) return explain(ENOPROTOOPT, "segmentation offload", from, way);
  if (way == SendWay::kTransparent && !set_option(descriptor, ipv6 ? IPPROTO_IPV6 : IPPROTO_IP,
                                                  ipv6 ? IPV6_TRANSPARENT : IP_TRANSPARENT)) {
    return failed("IP_TRANSPARENT");
  }
  // Several nodes of one host may send from the address.
  set_option(descriptor, SOL_SOCKET, SO_REUSEPORT);
  set_option(descriptor, ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, ipv6 ? IPV6_UNICAST_HOPS : IP_TTL,
             k_time_to_live);
  enlarge(descriptor, SocketBuffer::kSend);

  sockaddr_storage address;
  socklen_t length = to_sockaddr(from, ipv6, address);
  if (bind(descriptor, reinterpret_cast<sockaddr*>(&address), length) != 0) return failed("bind");
  length = to_sockaddr(no_peer(ipv6), ipv6, address);
  if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), length) != 0) {
    return failed("connect");
  }
  return made;
}

Opened SendOnlySocket::adopt(int descriptor, const Address& from) {
  sockaddr_storage address;
  socklen_t length = sizeof address;
  if (!is_whole(from) || !is_udp(descriptor) ||
      getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return socket_error(EINVAL, "descriptor of no UDP socket for", from);
  }
  const Address bound = from_sockaddr(address);
  const bool any = bound.ip == std::array<std::uint8_t, 16>{};
  if (bound.port != from.port || !(any || bound.same_ip(from))) {
    const std::string call = "descriptor of " + to_string(bound) + " for";
    return socket_error(EADDRNOTAVAIL, call.c_str(), from);
  }
  return std::unique_ptr<SendOnlySocket>(
      new SendOnlySocket(descriptor, address.ss_family == AF_INET6, from));
}

SendOnlySocket::SendOnlySocket(int descriptor, bool ipv6, const Address& from)
    : descriptor_(descriptor), from_(from), sender_(descriptor, ipv6, true) {
  forbid_fragments(descriptor, ipv6);
}

SendOnlySocket::~SendOnlySocket() { ::close(descriptor_); }

SendOutcome SendOnlySocket::send(const quic::TransmitBatch& batch) {
  if (batch.path.remote.family != from_.family) return SendOutcome::kDropped;
  quic::TransmitBatch mine = batch;
  mine.path.local = from_;
  std::size_t offset = 0;
  return sender_.send(mine, offset);
}

}  // namespace sheaf::io
