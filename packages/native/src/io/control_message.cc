#include "io/control_message.h"

#include <netinet/udp.h>

#include <array>
#include <cstring>

#include "io/socket_address.h"

namespace sheaf::io {

using quic::Address;
using quic::Ecn;

namespace {

template <typename Value>
void append(msghdr& message, int level, int type, const Value& value) {
  auto* header =
      reinterpret_cast<cmsghdr*>(static_cast<char*>(message.msg_control) + message.msg_controllen);
  header->cmsg_level = level;
  header->cmsg_type = type;
  header->cmsg_len = CMSG_LEN(sizeof value);
  std::memcpy(CMSG_DATA(header), &value, sizeof value);
  message.msg_controllen += CMSG_SPACE(sizeof value);
}

template <typename Value>
Value value_of(const cmsghdr& header) {
  Value value{};
  std::memcpy(&value, CMSG_DATA(&header), sizeof value);
  return value;
}

bool is_specified(const Address& address) {
  return address.family != Address::Family::kNone && address.ip != std::array<std::uint8_t, 16>{};
}

bool is_link_local(const in6_addr& address) { return IN6_IS_ADDR_LINKLOCAL(&address); }

void append_source(msghdr& message, const Address& local) {
  if (local.family == Address::Family::kIpv4) {
    in_pktinfo info{};
    std::memcpy(&info.ipi_spec_dst, local.ip.data(), sizeof info.ipi_spec_dst);
    return append(message, IPPROTO_IP, IP_PKTINFO, info);
  }
  in6_pktinfo info{};
  std::memcpy(&info.ipi6_addr, local.ip.data(), sizeof info.ipi6_addr);
  info.ipi6_ifindex = local.scope_id;
  append(message, IPPROTO_IPV6, IPV6_PKTINFO, info);
}

Address local_address(const in_pktinfo& info, std::uint16_t port) {
  Address address{.port = port, .family = Address::Family::kIpv4};
  std::memcpy(address.ip.data(), &info.ipi_addr, sizeof info.ipi_addr);
  return address;
}

Address local_address(const in6_pktinfo& info, std::uint16_t port) {
  sockaddr_storage storage{};
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(storage);
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(port);
  ipv6.sin6_addr = info.ipi6_addr;
  if (is_link_local(info.ipi6_addr)) ipv6.sin6_scope_id = info.ipi6_ifindex;
  return from_sockaddr(storage);
}

Ecn ecn_of(int type_of_service) { return static_cast<Ecn>(type_of_service & 0x03); }

}  // namespace

void write_control(msghdr& message, ControlBuffer& buffer, const SendControl& control) {
  std::memset(&buffer, 0, sizeof buffer);
  message.msg_control = buffer.bytes;
  message.msg_controllen = 0;
  if (is_specified(control.path.local)) append_source(message, control.path.local);
  if (control.ecn != Ecn::kNotEct) {
    // An IPv4 destination takes the option of IPv4 even on an IPv6 socket.
    const bool ipv4 = control.path.remote.family == Address::Family::kIpv4;
    append(message, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TOS : IPV6_TCLASS,
           static_cast<int>(control.ecn));
  }
  if (control.segment_size != 0) append(message, SOL_UDP, UDP_SEGMENT, control.segment_size);
  if (message.msg_controllen == 0) message.msg_control = nullptr;
}

void read_control(msghdr& message, ReceiveControl& control) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    const int type = header->cmsg_type;
    if (header->cmsg_level == IPPROTO_IP && type == IP_PKTINFO) {
      control.local = local_address(value_of<in_pktinfo>(*header), control.local.port);
    } else if (header->cmsg_level == IPPROTO_IPV6 && type == IPV6_PKTINFO) {
      control.local = local_address(value_of<in6_pktinfo>(*header), control.local.port);
    } else if (header->cmsg_level == IPPROTO_IP && type == IP_TOS) {
      control.ecn = ecn_of(value_of<std::uint8_t>(*header));
    } else if (header->cmsg_level == IPPROTO_IPV6 && type == IPV6_TCLASS) {
      control.ecn = ecn_of(value_of<int>(*header));
    } else if (header->cmsg_level == SOL_UDP && type == UDP_GRO) {
      control.segment_size = static_cast<std::size_t>(value_of<int>(*header));
    }
  }
}

}  // namespace sheaf::io
