#include "io/group_membership.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "io/socket_address.h"

namespace sheaf::io {

using quic::Address;

namespace {

bool is_ipv6(const Address& address) { return address.family == Address::Family::kIpv6; }

int level_of(const Address& group) { return is_ipv6(group) ? IPPROTO_IPV6 : IPPROTO_IP; }

// RFC 3678 §5.1: one form for both families
quic::Status<SocketError> change(int descriptor, int option, const char* call,
                                 const GroupMembership& membership) {
  group_source_req request{};
  request.gsr_interface = membership.interface;
  to_sockaddr(membership.group, is_ipv6(membership.group), request.gsr_group);
  to_sockaddr(membership.source, is_ipv6(membership.group), request.gsr_source);
  if (setsockopt(descriptor, level_of(membership.group), option, &request, sizeof request) != 0) {
    return socket_error(errno, call, membership.group);
  }
  return {};
}

// Returns the address that the kernel would send from.
std::optional<Address> local_towards(const Address& remote) {
  const int descriptor = socket(is_ipv6(remote) ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return std::nullopt;
  sockaddr_storage address;
  socklen_t length = to_sockaddr(remote, is_ipv6(remote), address);
  std::optional<Address> local;
  if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), length) == 0) {
    length = sizeof address;
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
      local = from_sockaddr(address);
    }
  }
  ::close(descriptor);
  return local;
}

}  // namespace

quic::Status<SocketError> join_group(int descriptor, const GroupMembership& membership) {
  return change(descriptor, MCAST_JOIN_SOURCE_GROUP, "join", membership);
}

quic::Status<SocketError> leave_group(int descriptor, const GroupMembership& membership) {
  return change(descriptor, MCAST_LEAVE_SOURCE_GROUP, "leave", membership);
}

quic::Status<SocketError> prepare_group_sending(int descriptor, const Address& group,
                                                const GroupSending& sending) {
  if (is_ipv6(group)) {
    const int interface = static_cast<int>(sending.interface);
    if (!set_option(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_IF, interface) ||
        !set_option(descriptor, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, sending.hops)) {
      return socket_error(errno, "send to", group);
    }
    return {};
  }
  ip_mreqn interface {};
  interface.imr_ifindex = static_cast<int>(sending.interface);
  if (setsockopt(descriptor, IPPROTO_IP, IP_MULTICAST_IF, &interface, sizeof interface) != 0 ||
      !set_option(descriptor, IPPROTO_IP, IP_MULTICAST_TTL, sending.hops)) {
    return socket_error(errno, "send to", group);
  }
  return {};
}

std::optional<unsigned> interface_named(const std::string& name) {
  const unsigned index = if_nametoindex(name.c_str());
  return index == 0 ? std::nullopt : std::optional(index);
}

std::optional<unsigned> interface_with(const Address& local) {
  if (local.scope_id != 0) return local.scope_id;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(list, freeifaddrs);
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    const int family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const Address address = from_sockaddr(*reinterpret_cast<sockaddr_storage*>(each->ifa_addr));
    if (address.same_ip(local)) return if_nametoindex(each->ifa_name);
  }
  return std::nullopt;
}

std::optional<unsigned> interface_towards(const Address& remote) {
  const auto local = local_towards(remote);
  return local ? interface_with(*local) : std::nullopt;
}

}  // namespace sheaf::io
