#pragma once

#include <algorithm>
#include <cstdint>

namespace sheaf::quic {

// Divides the memory of a connection among the data that its streams want to send. All sizes are in
// bytes.
//
// The data that the peer may still send has precedence. The rest is divided in three ways:
// - Data beyond the credit of its stream gets at most half, and at most a sixteenth for each
//   stream. Thus responses that the client does not take leave room for those that it does.
// - The last quarter is for streams that have nothing left to send.
// - Such a stream may always write a small chunk, so that none starves behind streams that are not
//   taken. `RequestAdmission` accounts for these chunks.
class SendBudget {
 public:
  // The sizes of chunks to write where credit is scarce and where it is plentiful.
  static constexpr std::uint64_t k_small_chunk = 16 << 10;
  static constexpr std::uint64_t k_large_chunk = 256 << 10;

  struct Stream {
    std::uint64_t unsent = 0;  // bytes
    std::uint64_t credit = 0;  // bytes of the stream that the peer takes, unsent ones included
    std::uint64_t stalled() const { return unsent > credit ? unsent - credit : 0; }
    std::uint64_t spare() const { return credit > unsent ? credit - unsent : 0; }
  };

  explicit SendBudget(std::uint64_t memory) : memory_(memory) {}

  void set_memory(std::uint64_t bytes) { memory_ = bytes; }
  std::uint64_t memory() const { return memory_; }
  // The size that the connection's receive window may grow to.
  std::uint64_t max_receive_window() const { return std::max(memory_ / 2, k_least); }
  void hold(std::uint64_t bytes) { held_ += bytes; }
  void release(std::uint64_t bytes) { held_ -= bytes; }
  void stall(std::uint64_t bytes) { stalled_ += bytes; }
  void unstall(std::uint64_t bytes) { stalled_ -= bytes; }
  std::uint64_t held() const { return held_; }

  // `window` is the number of bytes that the peer may send.
  bool has_room(std::uint64_t window) const { return held_ < of_sending(window); }
  bool has_room_to_hold(std::uint64_t bytes, std::uint64_t window) const {
    return held_ + bytes <= of_sending(window) / 4 * 3;
  }
  bool has_room(const Stream& stream, std::uint64_t window) const {
    if (stream.unsent == 0) return true;
    const std::uint64_t all = of_sending(window);
    if (held_ >= all / 4 * 3) return false;
    return stream.spare() >= k_small_chunk || (stalled_ < all / 2 && stream.stalled() < all / 16);
  }
  std::uint64_t chunk_size(const Stream& stream, std::uint64_t window) const {
    if (!has_room(stream, window)) return 0;
    const std::uint64_t all = of_sending(window);
    const std::uint64_t free = all > held_ ? all - held_ : 0;
    return stream.spare() >= k_large_chunk && free / 16 >= k_large_chunk ? k_large_chunk
                                                                         : k_small_chunk;
  }

 private:
  // The least memory with which one stream after the other can proceed.
  static constexpr std::uint64_t k_least = 64 << 10;
  std::uint64_t of_sending(std::uint64_t window) const {
    return std::max(memory_ > window ? memory_ - window : 0, k_least);
  }

  std::uint64_t memory_;
  std::uint64_t held_ = 0;
  std::uint64_t stalled_ = 0;
};

}  // namespace sheaf::quic
