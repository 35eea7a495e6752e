#include "io/udp_socket.h"

#include <fcntl.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/control_message.h"
#include "io/socket_address.h"

namespace sheaf::io {

using quic::Address;

namespace {

constexpr std::size_t k_receive_messages = 8;
// Maximum size, in bytes, of a coalesced message.
constexpr std::size_t k_message_size = 65536;

SocketError last_error(const char* call, const Address& address) {
  return socket_error(errno, call, address);
}

}  // namespace

struct UdpSocket::Buffers {
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(k_receive_messages * k_message_size);
  std::array<mmsghdr, k_receive_messages> messages{};
  std::array<iovec, k_receive_messages> vectors{};
  std::array<sockaddr_storage, k_receive_messages> addresses{};
  std::array<ControlBuffer, k_receive_messages> controls{};
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

std::unique_ptr<UdpSocket> UdpSocket::adopt(int descriptor, const Address& local,
                                            const UdpSocketOptions& options) {
  const bool ipv6 = local.family == Address::Family::kIpv6;
  std::unique_ptr<UdpSocket> made(new UdpSocket(descriptor, ipv6, options));
  made->local_ = local;
  return made;
}

UdpSocket::UdpSocket(int descriptor, bool ipv6, const UdpSocketOptions& options)
    : descriptor_(descriptor),
      sender_(descriptor, ipv6, options.segmentation_offload),
      received_(k_receive_messages),
      buffers_(std::make_unique<Buffers>()) {
  set_options(ipv6, options);
}

void UdpSocket::set_options(bool ipv6, const UdpSocketOptions& options) {
  if (options.reuse_port) set_option(descriptor_, SOL_SOCKET, SO_REUSEPORT);
  if (options.group_member) set_group_options(ipv6);
  enlarge(descriptor_, SocketBuffer::kReceive);
  enlarge(descriptor_, SocketBuffer::kSend);
  if (!options.fragments) forbid_fragments(descriptor_, ipv6);
  if (sender_.segments()) set_option(descriptor_, SOL_UDP, UDP_GRO);
  // An IPv6 socket gets the options of both families, since it may carry IPv4.
  set_option(descriptor_, IPPROTO_IP, IP_PKTINFO);
  set_option(descriptor_, IPPROTO_IP, IP_RECVTOS);
  if (!ipv6) return;
  set_option(descriptor_, IPPROTO_IPV6, IPV6_V6ONLY, options.group_member ? 1 : 0);
  set_option(descriptor_, IPPROTO_IPV6, IPV6_RECVPKTINFO);
  set_option(descriptor_, IPPROTO_IPV6, IPV6_RECVTCLASS);
}

// Linux gives a socket the packets of all groups that any socket of the host has joined, unless it
// is told otherwise before it is bound.
void UdpSocket::set_group_options(bool ipv6) {
  set_option(descriptor_, SOL_SOCKET, SO_REUSEADDR);
  set_option(descriptor_, IPPROTO_IP, IP_MULTICAST_ALL, 0);
  if (ipv6) set_option(descriptor_, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
}

UdpSocket::~UdpSocket() { ::close(descriptor_); }

void UdpSocket::share_address() const { set_option(descriptor_, SOL_SOCKET, SO_REUSEPORT); }

int UdpSocket::take_error() {
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

SendOutcome UdpSocket::send(const quic::TransmitBatch& batch) {
  std::size_t offset = std::exchange(resume_offset_, 0);
  const SendOutcome outcome = sender_.send(batch, offset);
  if (outcome == SendOutcome::kBlocked) resume_offset_ = offset;
  return outcome;
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
  // Any error but "nothing to receive" reports once what an ICMP message said about an earlier
  // send. An error that persists means that there is nothing to receive.
  constexpr int k_attempts = 4;
  for (int attempt = 0; attempt < k_attempts; ++attempt) {
    const int count =
        recvmmsg(descriptor_, buffers.messages.data(), k_receive_messages, 0, nullptr);
    if (count >= 0) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) take(i);
      return static_cast<std::size_t>(count);
    }
    if (would_block(errno)) break;
  }
  return 0;
}

void UdpSocket::take(std::size_t index) {
  msghdr& message = buffers_->messages[index].msg_hdr;
  Received& received = received_[index];
  ReceiveControl control{.local = local_};
  read_control(message, control);
  // Without all control messages the boundaries of the datagrams are unknown.
  const bool whole = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  const std::size_t size = whole ? buffers_->messages[index].msg_len : 0;
  received.bytes = {buffers_->bytes.data() + index * k_message_size, size};
  received.segment_size =
      std::max<std::size_t>(control.segment_size != 0 ? control.segment_size : size, 1);
  received.path = {control.local, from_sockaddr(buffers_->addresses[index])};
  received.ecn = control.ecn;
}

}  // namespace sheaf::io
