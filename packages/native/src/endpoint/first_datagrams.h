#pragma once

#include <algorithm>
#include <cstdint>

#include "util/bytes.h"

namespace sheaf::quic {

// Makes the first datagrams of a client so large as it wants to go on, and so learns from the
// handshake alone that its path carries them. Falls back once one of them may be lost.
class FirstDatagrams {
 public:
  explicit FirstDatagrams(std::uint16_t size) : size_(size) {}

  // Returns the size of a datagram with `written` bytes of the handshake. Zeros behind its packets
  // are an invalid packet, which receivers discard (RFC 9000 §14.1).
  std::size_t grow(MutableBytes room, std::size_t written) const {
    const std::size_t size = std::min<std::size_t>(size_, room.size());
    if (answered_ || written < k_with_initial || written >= size) return written;
    std::fill(room.begin() + written, room.begin() + size, std::uint8_t{0});
    return size;
  }
  void on_received() { answered_ = true; }
  // Something was lost, and nobody knows whether for its size. Responses may be forged so far.
  void on_timeout() { size_ = 0; }
  // Returns the size that the path is known to carry, once the handshake is complete.
  std::uint16_t carried() const { return size_; }

 private:
  // Datagrams with an Initial packet have this size at least (RFC 9000 §14.1).
  static constexpr std::size_t k_with_initial = 1200;

  std::uint16_t size_;
  bool answered_ = false;
};

}  // namespace sheaf::quic
