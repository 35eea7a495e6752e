#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>

#include "connection/transmit.h"

namespace sheaf::io {

enum class SendOutcome : std::uint8_t {
  kSent,
  kBlocked,  // the socket's buffer is full
  kDropped,  // the network refused the batch (no route, too large), which counts as loss
};

// Sends batches over a UDP socket that belongs to somebody else, with segmentation offload where
// the socket and the device have it. Never waits. Nothing is allocated.
class BatchSender {
 public:
  // `ipv6` tells that the socket is one of IPv6, which may send IPv4 as well.
  BatchSender(int descriptor, bool ipv6, bool segmentation_offload);

  // Returns whether the kernel segments (UDP_SEGMENT), as far as is known.
  bool segments() const { return segmentation_; }

  // Sends what follows `offset`, a position in the batch. When it is blocked, `offset` becomes the
  // position at which to go on.
  SendOutcome send(const quic::TransmitBatch& batch, std::size_t& offset);

 private:
  // Reports how far one system call came: the bytes of the batch that are settled, or the error.
  struct Attempt {
    std::size_t bytes = 0;
    int error = 0;
  };
  static constexpr std::size_t k_max_segments = 64;  // UDP_MAX_SEGMENTS of older kernels

  Attempt send_offloaded(const quic::TransmitBatch& batch, std::size_t offset);
  Attempt send_messages(const quic::TransmitBatch& batch, std::size_t offset);

  int descriptor_;
  bool ipv6_;
  bool segmentation_;
  std::array<mmsghdr, k_max_segments> messages_{};
  std::array<iovec, k_max_segments> vectors_{};
};

}  // namespace sheaf::io
