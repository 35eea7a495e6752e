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
constexpr int k_socket_buffer = 4 << 20;
constexpr std::size_t k_max_segments = 64;  // UDP_MAX_SEGMENTS of the kernel
// Maximum payload, in bytes, below an IPv4 header, which bounds segmentation offload too.
constexpr std::size_t k_max_payload = 65535 - 20 - 8;

// Sets an option that the socket can do without.
bool set_option(int descriptor, int level, int option, int value = 1) {
  return setsockopt(descriptor, level, option, &value, sizeof value) == 0;
}

SocketError last_error(const char* call, const Address& address) {
  const int number = errno;
  const char* name = strerrorname_np(number);
  return {number, std::string(call) + " " + to_string(address) + ": " +
                      (name != nullptr ? name : std::to_string(number)) + " (" +
                      std::strerror(number) + ")"};
}

bool is_blocked(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

// Returns true when the route or the local address is gone, which loses every datagram of a batch.
// EINVAL means that the source address does not belong to this host, unless the batch was
// offloaded, which the kernel may refuse.
bool is_gone(int error, bool offloaded) {
  return error == ENETUNREACH || error == EHOSTUNREACH || error == ENETDOWN ||
         error == EADDRNOTAVAIL || (error == EINVAL && !offloaded);
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
  set_options(options);
}

void UdpSocket::set_options(const UdpSocketOptions& options) {
  if (options.reuse_port) set_option(descriptor_, SOL_SOCKET, SO_REUSEPORT);
  // The privileged option may exceed net.core.rmem_max.
  if (!set_option(descriptor_, SOL_SOCKET, SO_RCVBUFFORCE, k_socket_buffer)) {
    set_option(descriptor_, SOL_SOCKET, SO_RCVBUF, k_socket_buffer);
  }
  if (!set_option(descriptor_, SOL_SOCKET, SO_SNDBUFFORCE, k_socket_buffer)) {
    set_option(descriptor_, SOL_SOCKET, SO_SNDBUF, k_socket_buffer);
  }
  // A kernel without UDP_SEGMENT would ignore the control message and send one huge datagram.
  if (segmentation_) segmentation_ = set_option(descriptor_, SOL_UDP, UDP_SEGMENT, 0);
  if (segmentation_) set_option(descriptor_, SOL_UDP, UDP_GRO);
  // RFC 9000 §14 forbids fragmentation, and RFC 8899 §3 lets the engine choose the size. An IPv6
  // socket gets the options of both families, since it may carry IPv4.
  set_option(descriptor_, IPPROTO_IP, IP_PKTINFO);
  set_option(descriptor_, IPPROTO_IP, IP_RECVTOS);
  set_option(descriptor_, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
  if (!ipv6_) return;
  set_option(descriptor_, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  set_option(descriptor_, IPPROTO_IPV6, IPV6_RECVPKTINFO);
  set_option(descriptor_, IPPROTO_IPV6, IPV6_RECVTCLASS);
  set_option(descriptor_, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
}

UdpSocket::~UdpSocket() { ::close(descriptor_); }

int UdpSocket::take_error() {
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

UdpSocket::SendOutcome UdpSocket::send(const quic::TransmitBatch& batch) {
  if (!ipv6_ && batch.path.remote.family == Address::Family::kIpv6) return SendOutcome::kDropped;
  std::size_t offset = std::exchange(resume_offset_, 0);
  SendOutcome outcome = SendOutcome::kDropped;
  bool offload = segmentation_;
  while (offset < batch.size) {
    const bool several = batch.size - offset > batch.segment_size;
    const bool offloaded = several && offload;
    const Attempt attempt =
        several && !offloaded ? send_messages(batch, offset) : send_offloaded(batch, offset);
    if (attempt.error == 0) {
      offset += attempt.bytes;
      outcome = SendOutcome::kSent;
    } else if (is_blocked(attempt.error)) {
      resume_offset_ = offset;
      return SendOutcome::kBlocked;
    } else if (attempt.error == EINTR) {
      continue;
    } else if (is_gone(attempt.error, offloaded)) {
      break;
    } else if (offloaded) {
      // EIO: the device cannot segment. Any other reason, such as a segment above the path's MTU,
      // may concern this batch alone.
      offload = false;
      if (attempt.error == EIO) segmentation_ = false;
    } else {
      offset += batch.segment_size;  // this datagram is lost
    }
  }
  return outcome;
}

// Sends one datagram, or as many segments as one call accepts.
UdpSocket::Attempt UdpSocket::send_offloaded(const quic::TransmitBatch& batch, std::size_t offset) {
  const std::size_t segments =
      std::clamp<std::size_t>(k_max_payload / batch.segment_size, 1, k_max_segments);
  const std::size_t size = std::min(batch.size - offset, segments * batch.segment_size);
  const bool several = size > batch.segment_size;
  sockaddr_storage address;
  ControlBuffer control;
  iovec vector{batch.buffer.data() + offset, size};
  msghdr message{};
  message.msg_name = &address;
  message.msg_namelen = to_sockaddr(batch.path.remote, ipv6_, address);
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  write_control(message, control,
                {.path = batch.path,
                 .ecn = batch.ecn,
                 .segment_size = static_cast<std::uint16_t>(several ? batch.segment_size : 0)});
  if (sendmsg(descriptor_, &message, 0) < 0) return {.error = errno};
  return {.bytes = size};
}

UdpSocket::Attempt UdpSocket::send_messages(const quic::TransmitBatch& batch, std::size_t offset) {
  sockaddr_storage address;
  ControlBuffer control;
  msghdr common{};
  common.msg_name = &address;
  common.msg_namelen = to_sockaddr(batch.path.remote, ipv6_, address);
  common.msg_iovlen = 1;
  write_control(common, control, {.path = batch.path, .ecn = batch.ecn});
  unsigned count = 0;
  for (std::size_t next = offset; next < batch.size && count < k_max_segments; ++count) {
    const std::size_t size = std::min(batch.segment_size, batch.size - next);
    buffers_->outgoing_vectors[count] = {batch.buffer.data() + next, size};
    buffers_->outgoing[count].msg_hdr = common;
    buffers_->outgoing[count].msg_hdr.msg_iov = &buffers_->outgoing_vectors[count];
    next += size;
  }
  const int sent = sendmmsg(descriptor_, buffers_->outgoing.data(), count, 0);
  if (sent < 0) return {.error = errno};
  return {.bytes =
              std::min(static_cast<std::size_t>(sent) * batch.segment_size, batch.size - offset)};
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
    if (is_blocked(errno)) break;
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
