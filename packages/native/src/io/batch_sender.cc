#include "io/batch_sender.h"

#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>

#include "io/control_message.h"
#include "io/socket_address.h"
#include "io/socket_calls.h"

namespace sheaf::io {

namespace {

// Maximum payload, in bytes, below an IPv4 header, which bounds segmentation offload too.
constexpr std::size_t k_max_payload = 65535 - 20 - 8;

// Returns true when the route or the local address is gone, which loses every datagram of a batch.
// EINVAL means that the source address does not belong to this host, unless the batch was
// offloaded, which the kernel may refuse.
bool is_gone(int error, bool offloaded) {
  return error == ENETUNREACH || error == EHOSTUNREACH || error == ENETDOWN ||
         error == EADDRNOTAVAIL || (error == EINVAL && !offloaded);
}

}  // namespace

// A kernel without UDP_SEGMENT would ignore the control message and send one huge datagram.
BatchSender::BatchSender(int descriptor, bool ipv6, bool segmentation_offload)
    : descriptor_(descriptor),
      ipv6_(ipv6),
      segmentation_(segmentation_offload && set_option(descriptor, SOL_UDP, UDP_SEGMENT, 0)) {}

SendOutcome BatchSender::send(const quic::TransmitBatch& batch, std::size_t& offset) {
  if (!ipv6_ && batch.path.remote.family == quic::Address::Family::kIpv6) {
    return SendOutcome::kDropped;
  }
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
    } else if (would_block(attempt.error)) {
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
BatchSender::Attempt BatchSender::send_offloaded(const quic::TransmitBatch& batch,
                                                 std::size_t offset) {
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
  if (sendmsg(descriptor_, &message, MSG_DONTWAIT) < 0) return {.error = errno};
  return {.bytes = size};
}

BatchSender::Attempt BatchSender::send_messages(const quic::TransmitBatch& batch,
                                                std::size_t offset) {
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
    vectors_[count] = {batch.buffer.data() + next, size};
    messages_[count].msg_hdr = common;
    messages_[count].msg_hdr.msg_iov = &vectors_[count];
    next += size;
  }
  const int sent = sendmmsg(descriptor_, messages_.data(), count, MSG_DONTWAIT);
  if (sent < 0) return {.error = errno};
  return {.bytes =
              std::min(static_cast<std::size_t>(sent) * batch.segment_size, batch.size - offset)};
}

}  // namespace sheaf::io
