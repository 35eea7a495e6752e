#include "io/connected_socket.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/socket_address.h"

namespace sheaf::io {

using quic::Address;

namespace {

constexpr std::size_t k_received_at_once = 8;
constexpr std::size_t k_received_bytes = 64 << 10;
// Bounds of UDP_SEGMENT: UDP_MAX_SEGMENTS of older kernels, and what a UDP packet can have.
constexpr std::size_t k_max_run_segments = 64;
constexpr std::size_t k_max_run_bytes = 65507;

// Whether an error says that the peer, or every way to it, is gone. ICMP messages set these errors
// (RFC 9298 §3.1); Linux reports those of a host or network only when they are final.
bool says_gone(int error) {
  return error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH ||
         error == ENOPROTOOPT || error == ENETDOWN || error == EADDRNOTAVAIL;
}

}  // namespace

bool DatagramRuns::append(quic::Bytes head, quic::Bytes payload, quic::Ecn ecn) {
  const std::size_t size = head.size() + payload.size();
  if (used_ + size > buffer_.size()) return false;
  if (!extend(size, ecn)) {
    if (count_ == k_runs) return false;
    runs_[count_++] = {used_, size, size, ecn};
  }
  for (const quic::Bytes part : {head, payload}) {
    if (!part.empty()) std::memcpy(buffer_.data() + used_, part.data(), part.size());
    used_ += part.size();
  }
  return true;
}

// A shorter datagram ends a run.
bool DatagramRuns::extend(std::size_t size, quic::Ecn ecn) {
  if (count_ == 0 || size == 0) return false;
  Run& last = runs_[count_ - 1];
  const bool open = last.ecn == ecn && last.segment_size > 0 &&
                    last.size % last.segment_size == 0 && last.segments() < k_max_run_segments &&
                    last.size + size <= k_max_run_bytes;
  if (!open || size > last.segment_size) return false;
  last.size += size;
  return true;
}

struct ConnectedSocket::Buffers {
  std::vector<std::uint8_t> bytes =
      std::vector<std::uint8_t>(k_received_at_once * k_received_bytes);
  std::array<mmsghdr, DatagramRuns::k_runs> messages{};
  std::array<iovec, DatagramRuns::k_runs> vectors{};
  std::array<ControlBuffer, DatagramRuns::k_runs> controls{};

  // Returns a new message of the bytes of a vector.
  msghdr& message_of_vector(std::size_t index) {
    msghdr& message = messages[index].msg_hdr;
    message = {};
    message.msg_iov = &vectors[index];
    message.msg_iovlen = 1;
    return message;
  }
};

void ConnectedSocket::FreeBuffers::operator()(Buffers* buffers) const { delete buffers; }

ConnectedSocket::BuffersPointer ConnectedSocket::make_buffers() {
  return BuffersPointer(new Buffers);
}

quic::Result<std::unique_ptr<ConnectedSocket>, SocketError> ConnectedSocket::open(
    const Address& peer, const std::optional<Address>& local) {
  const bool ipv6 = peer.family == Address::Family::kIpv6;
  const int descriptor =
      socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return socket_error(errno, "socket", peer);
  std::unique_ptr<ConnectedSocket> made(new ConnectedSocket(descriptor));
  enlarge(descriptor, SocketBuffer::kReceive);
  forbid_fragments(descriptor, ipv6);
  set_option(descriptor, SOL_UDP, UDP_GRO);
  set_option(descriptor, ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, ipv6 ? IPV6_RECVTCLASS : IP_RECVTOS);
  sockaddr_storage address;
  if (local) {
    set_option(descriptor, SOL_SOCKET, SO_REUSEPORT);
    const socklen_t local_length = to_sockaddr(*local, ipv6, address);
    if (bind(descriptor, reinterpret_cast<sockaddr*>(&address), local_length) != 0) {
      return socket_error(errno, "bind", *local);
    }
  }
  const socklen_t length = to_sockaddr(peer, ipv6, address);
  if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), length) != 0) {
    return socket_error(errno, "connect", peer);
  }
  socklen_t bound = sizeof address;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &bound) != 0) {
    return socket_error(errno, "getsockname", peer);
  }
  made->local_ = from_sockaddr(address);
  return made;
}

ConnectedSocket::~ConnectedSocket() { ::close(descriptor_); }

// --- sending ------------------------------------------------------------------------------------

quic::AddressPair ConnectedSocket::path_of_marks() const {
  return {.local = {}, .remote = {.family = local_.family}};
}

ConnectedSocket::Sent ConnectedSocket::send(DatagramRuns& batch, Buffers& buffers) {
  const quic::AddressPair path = path_of_marks();
  const auto runs = batch.runs();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const quic::MutableBytes bytes = batch.bytes_of(runs[i]);
    buffers.vectors[i] = {bytes.data(), bytes.size()};
    const bool several = runs[i].segments() > 1;
    const auto segment = static_cast<std::uint16_t>(several ? runs[i].segment_size : 0);
    write_control(buffers.message_of_vector(i), buffers.controls[i],
                  {.path = path, .ecn = runs[i].ecn, .segment_size = segment});
  }
  Sent sent;
  for (std::size_t next = 0; next < runs.size() && sent.gone == 0;) {
    const int count = sendmmsg(descriptor_, &buffers.messages[next],
                               static_cast<unsigned>(runs.size() - next), MSG_DONTWAIT);
    for (int i = 0; i < count; ++i, ++next) {
      sent.datagrams += runs[next].segments();
      sent.bytes += runs[next].size;
    }
    if (count > 0) continue;
    const auto& run = runs[next];
    if (errno == EINTR) continue;
    // A device that cannot segment, or a segment above its limit, which may concern some alone.
    const bool segmenting = errno == EIO || errno == EINVAL || errno == EMSGSIZE;
    if (run.segments() > 1 && segmenting) {
      send_singly(batch.bytes_of(run), run, sent);
    } else {
      settle(errno, run.segments(), sent);
    }
    ++next;
  }
  batch.clear();
  return sent;
}

void ConnectedSocket::send_singly(quic::MutableBytes bytes, const DatagramRuns::Run& run,
                                  Sent& sent) {
  const quic::AddressPair path = path_of_marks();
  for (std::size_t at = 0; at < bytes.size() && sent.gone == 0; at += run.segment_size) {
    const std::size_t size = std::min(run.segment_size, bytes.size() - at);
    iovec vector{bytes.data() + at, size};
    ControlBuffer control;
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    write_control(message, control, {.path = path, .ecn = run.ecn});
    if (sendmsg(descriptor_, &message, MSG_DONTWAIT) >= 0) {
      ++sent.datagrams;
      sent.bytes += size;
    } else {
      settle(errno, 1, sent);
    }
  }
}

void ConnectedSocket::settle(int error, std::size_t datagrams, Sent& sent) {
  if (error == EMSGSIZE) {
    sent.too_large += datagrams;
  } else if (would_block(error) || error == ENOBUFS) {
    sent.blocked += datagrams;
  } else {
    sent.refused += datagrams;
    if (says_gone(error)) sent.gone = error;
  }
}

// --- receiving ----------------------------------------------------------------------------------

ConnectedSocket::Received ConnectedSocket::receive_messages(Buffers& buffers) {
  for (std::size_t i = 0; i < k_received_at_once; ++i) {
    buffers.vectors[i] = {buffers.bytes.data() + i * k_received_bytes, k_received_bytes};
    msghdr& message = buffers.message_of_vector(i);
    message.msg_control = buffers.controls[i].bytes;
    message.msg_controllen = sizeof buffers.controls[i].bytes;
  }
  Received received;
  // Each error but the last one tells what an ICMP message said.
  constexpr int k_attempts = 4;
  for (int attempt = 0; attempt < k_attempts && received.gone == 0; ++attempt) {
    const int count =
        recvmmsg(descriptor_, buffers.messages.data(), k_received_at_once, MSG_DONTWAIT, nullptr);
    if (count >= 0) {
      received.messages = static_cast<std::size_t>(count);
      received.drained = received.messages < k_received_at_once;
      break;
    }
    received.drained = would_block(errno);
    if (received.drained) break;
    if (errno == EMSGSIZE) ++received.too_large;
    if (says_gone(errno)) received.gone = errno;
  }
  return received;
}

ConnectedSocket::Message ConnectedSocket::message_of(Buffers& buffers, std::size_t index) {
  mmsghdr& received = buffers.messages[index];
  ReceiveControl control;
  read_control(received.msg_hdr, control);
  // Without all control messages the boundaries of the datagrams are unknown.
  const bool whole = (received.msg_hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  const std::size_t size = whole ? received.msg_len : 0;
  const quic::Bytes bytes(buffers.bytes.data() + index * k_received_bytes, size);
  const std::size_t segment = control.segment_size != 0 ? control.segment_size : size;
  return {bytes, std::max<std::size_t>(segment, 1), whole, control.ecn};
}

}  // namespace sheaf::io
