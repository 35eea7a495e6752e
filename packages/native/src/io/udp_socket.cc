#include "io/udp_socket.h"

#include <fcntl.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "io/socket_address.h"

namespace sheaf::io {

using quic::Address;
using quic::Ecn;

namespace {

constexpr std::size_t k_receive_messages = 16;
// A coalesced receive is at most this long.
constexpr std::size_t k_message_size = 65536;
constexpr int k_socket_buffer = 4 << 20;
constexpr std::size_t k_max_segments = 64;  // UDP_MAX_SEGMENTS of the kernel

union ControlBuffer {
  cmsghdr alignment;
  char bytes[CMSG_SPACE(sizeof(in6_pktinfo)) + CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(int))];
};

void enable(int descriptor, int level, int option, int value = 1) {
  // Optional abilities: the socket works without them.
  static_cast<void>(setsockopt(descriptor, level, option, &value, sizeof value));
}

SocketError last_error(const char* call, const Address& address) {
  const int number = errno;
  return {number, std::string(call) + " " + to_string(address) + ": " + std::strerror(number)};
}

template <typename Value>
void append_control(msghdr& message, int level, int type, const Value& value) {
  auto* header =
      reinterpret_cast<cmsghdr*>(static_cast<char*>(message.msg_control) + message.msg_controllen);
  header->cmsg_level = level;
  header->cmsg_type = type;
  header->cmsg_len = CMSG_LEN(sizeof value);
  std::memcpy(CMSG_DATA(header), &value, sizeof value);
  message.msg_controllen += CMSG_SPACE(sizeof value);
}

// Source address and ECN mark of a message to send.
void append_path(msghdr& message, const quic::AddressPair& path, Ecn ecn, bool ipv6) {
  const bool known = path.local.family != Address::Family::kNone &&
                     path.local.ip != std::array<std::uint8_t, 16>{};
  if (ipv6) {
    if (known) {
      sockaddr_storage local;
      to_sockaddr(path.local, true, local);
      in6_pktinfo info{};
      info.ipi6_addr = reinterpret_cast<sockaddr_in6&>(local).sin6_addr;
      append_control(message, IPPROTO_IPV6, IPV6_PKTINFO, info);
    }
    if (ecn != Ecn::kNotEct)
      append_control(message, IPPROTO_IPV6, IPV6_TCLASS, static_cast<int>(ecn));
    return;
  }
  if (known) {
    in_pktinfo info{};
    std::memcpy(&info.ipi_spec_dst, path.local.ip.data(), 4);
    append_control(message, IPPROTO_IP, IP_PKTINFO, info);
  }
  if (ecn != Ecn::kNotEct) append_control(message, IPPROTO_IP, IP_TOS, static_cast<int>(ecn));
}

}  // namespace

struct UdpSocket::Buffers {
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(k_receive_messages * k_message_size);
  std::array<mmsghdr, k_receive_messages> messages{};
  std::array<iovec, k_receive_messages> vectors{};
  std::array<sockaddr_storage, k_receive_messages> addresses{};
  std::array<ControlBuffer, k_receive_messages> controls{};
  std::array<mmsghdr, k_max_segments> outgoing{};
  std::array<iovec, k_max_segments> outgoing_vectors{};
};

quic::Result<std::unique_ptr<UdpSocket>, SocketError> UdpSocket::open(
    const Address& local, const UdpSocketOptions& options) {
  const bool ipv6 = local.family == Address::Family::kIpv6;
  const int descriptor =
      socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return last_error("socket", local);
  std::unique_ptr<UdpSocket> made(new UdpSocket(descriptor, ipv6, options));

  sockaddr_storage address;
  const socklen_t length = to_sockaddr(local, ipv6, address);
  if (bind(descriptor, reinterpret_cast<sockaddr*>(&address), length) != 0) {
    return last_error("bind", local);
  }
  socklen_t bound = sizeof address;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &bound) != 0) {
    return last_error("getsockname", local);
  }
  made->local_ = from_sockaddr(address);
  return made;
}

UdpSocket::UdpSocket(int descriptor, bool ipv6, const UdpSocketOptions& options)
    : descriptor_(descriptor),
      ipv6_(ipv6),
      segmentation_(options.segmentation_offload),
      received_(k_receive_messages),
      buffers_(std::make_unique<Buffers>()) {
  if (options.reuse_port) enable(descriptor, SOL_SOCKET, SO_REUSEPORT);
  enable(descriptor, SOL_SOCKET, SO_RCVBUF, k_socket_buffer);
  enable(descriptor, SOL_SOCKET, SO_SNDBUF, k_socket_buffer);
  if (segmentation_) enable(descriptor, SOL_UDP, UDP_GRO);
  // An IPv6 socket bound to the unspecified address serves both; RFC 8899 needs DF on both.
  enable(descriptor, IPPROTO_IP, IP_PKTINFO);
  enable(descriptor, IPPROTO_IP, IP_RECVTOS);
  enable(descriptor, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
  if (ipv6) {
    enable(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    enable(descriptor, IPPROTO_IPV6, IPV6_RECVPKTINFO);
    enable(descriptor, IPPROTO_IPV6, IPV6_RECVTCLASS);
    enable(descriptor, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
  }
}

UdpSocket::~UdpSocket() { ::close(descriptor_); }

UdpSocket::SendOutcome UdpSocket::send(const quic::TransmitBatch& batch) {
  if (batch.size <= batch.segment_size || segmentation_) {
    msghdr message{};
    sockaddr_storage address;
    iovec vector{batch.buffer.data(), batch.size};
    ControlBuffer control;
    std::memset(&control, 0, sizeof control);
    message.msg_name = &address;
    message.msg_namelen = to_sockaddr(batch.path.remote, ipv6_, address);
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    append_path(message, batch.path, batch.ecn, ipv6_);
    if (batch.size > batch.segment_size) {
      append_control(message, SOL_UDP, UDP_SEGMENT, static_cast<std::uint16_t>(batch.segment_size));
    }
    if (message.msg_controllen == 0) message.msg_control = nullptr;
    if (sendmsg(descriptor_, &message, 0) >= 0) return SendOutcome::kSent;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return SendOutcome::kBlocked;
    const bool refused_offload = errno == EIO || errno == EINVAL || errno == EOPNOTSUPP;
    if (batch.size <= batch.segment_size || !refused_offload) return SendOutcome::kDropped;
    segmentation_ = false;
  }
  return send_segments(batch, batch.segment_size);
}

UdpSocket::SendOutcome UdpSocket::send_segments(const quic::TransmitBatch& batch,
                                                std::size_t segment_size) {
  sockaddr_storage address;
  const socklen_t length = to_sockaddr(batch.path.remote, ipv6_, address);
  ControlBuffer control;
  std::memset(&control, 0, sizeof control);
  msghdr first{};
  first.msg_control = control.bytes;
  append_path(first, batch.path, batch.ecn, ipv6_);
  unsigned count = 0;
  for (std::size_t offset = 0; offset < batch.size && count < k_max_segments; ++count) {
    const std::size_t size = std::min(segment_size, batch.size - offset);
    buffers_->outgoing_vectors[count] = {batch.buffer.data() + offset, size};
    msghdr& message = buffers_->outgoing[count].msg_hdr;
    message = first;
    message.msg_name = &address;
    message.msg_namelen = length;
    message.msg_iov = &buffers_->outgoing_vectors[count];
    message.msg_iovlen = 1;
    if (message.msg_controllen == 0) message.msg_control = nullptr;
    offset += size;
  }
  const int sent = sendmmsg(descriptor_, buffers_->outgoing.data(), count, 0);
  if (sent < 0) {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ? SendOutcome::kBlocked
                                                                       : SendOutcome::kDropped;
  }
  // What did not fit any more is left to loss recovery.
  return SendOutcome::kSent;
}

std::size_t UdpSocket::receive_messages() {
  Buffers& buffers = *buffers_;
  for (std::size_t i = 0; i < k_receive_messages; ++i) {
    buffers.vectors[i] = {buffers.bytes.data() + i * k_message_size, k_message_size};
    msghdr& message = buffers.messages[i].msg_hdr;
    message = {};
    message.msg_name = &buffers.addresses[i];
    message.msg_namelen = sizeof buffers.addresses[i];
    message.msg_iov = &buffers.vectors[i];
    message.msg_iovlen = 1;
    message.msg_control = buffers.controls[i].bytes;
    message.msg_controllen = sizeof buffers.controls[i].bytes;
  }
  int count = 0;
  do {
    count = recvmmsg(descriptor_, buffers.messages.data(), k_receive_messages, 0, nullptr);
    // ECONNREFUSED and the like report an ICMP message about an earlier send.
  } while (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EBADF);
  for (int i = 0; i < count; ++i) {
    msghdr& message = buffers.messages[i].msg_hdr;
    Received& received = received_[static_cast<std::size_t>(i)];
    const std::size_t size = buffers.messages[i].msg_len;
    received.bytes = {buffers.bytes.data() + static_cast<std::size_t>(i) * k_message_size, size};
    received.segment_size = std::max<std::size_t>(size, 1);
    received.path.remote = from_sockaddr(buffers.addresses[i]);
    received.path.local = local_;
    received.ecn = Ecn::kNotEct;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header;
         header = CMSG_NXTHDR(&message, header)) {
      const void* data = CMSG_DATA(header);
      if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
        in_pktinfo info;
        std::memcpy(&info, data, sizeof info);
        received.path.local = {};
        received.path.local.family = Address::Family::kIpv4;
        received.path.local.port = local_.port;
        std::memcpy(received.path.local.ip.data(), &info.ipi_addr, 4);
      } else if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
        in6_pktinfo info;
        std::memcpy(&info, data, sizeof info);
        sockaddr_storage local{};
        auto& ipv6 = reinterpret_cast<sockaddr_in6&>(local);
        ipv6.sin6_family = AF_INET6;
        ipv6.sin6_port = htons(local_.port);
        ipv6.sin6_addr = info.ipi6_addr;
        received.path.local = from_sockaddr(local);
      } else if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_TOS) {
        received.ecn = static_cast<Ecn>(*static_cast<const std::uint8_t*>(data) & 3);
      } else if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_TCLASS) {
        int traffic_class;
        std::memcpy(&traffic_class, data, sizeof traffic_class);
        received.ecn = static_cast<Ecn>(traffic_class & 3);
      } else if (header->cmsg_level == SOL_UDP && header->cmsg_type == UDP_GRO) {
        int segment;
        std::memcpy(&segment, data, sizeof segment);
        if (segment > 0) received.segment_size = static_cast<std::size_t>(segment);
      }
    }
  }
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

}  // namespace sheaf::io
