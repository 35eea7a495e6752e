#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sheaf::quic {

// Room for one aligned stretch of a stream's received bytes. Small blocks, because a peer may open
// many streams and send one byte on each.
struct Block {
  static constexpr std::size_t k_size = 4096;

  // The bytes that arrived out of order; stale while `has_received` is false. A bit per byte, so
  // that no pattern of fragments costs more than an eighth of the window.
  std::array<std::uint64_t, k_size / 64> received;
  std::array<std::uint8_t, k_size> bytes;
  Block* next_free;
  bool has_received;
};

// The blocks of one connection. Keeps as many free ones as are in use; of what is beyond that, a
// thread keeps a little for all its connections. So a steady flow never allocates, be it read often
// or seldom.
class BlockPool {
 public:
  BlockPool() = default;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool();

  Block* take();
  void give_back(Block* block);
  // Frees what is not in use, of this connection.
  void trim();
  std::size_t memory_bytes() const { return (in_use_ + free_count_) * sizeof(Block); }

 private:
  // Covers a batch of 32 full packets.
  static constexpr std::size_t k_kept = 16;

  Block* free_ = nullptr;
  std::size_t free_count_ = 0;
  std::size_t in_use_ = 0;
};

}  // namespace sheaf::quic
