#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sheaf::quic {

// Room for one aligned stretch of a stream's received bytes. Behind this head are the bytes, then a
// bit for each byte that arrived out of order, so that no pattern of fragments costs more than an
// eighth of the window.
struct Block {
  // A stream begins with small blocks: a peer may open many streams, and send one byte on each.
  // Behind its first 32 KiB it has used so much credit that a large one costs little beside it.
  static constexpr std::size_t k_small = 512;
  static constexpr std::size_t k_large = 4096;
  static constexpr std::uint64_t k_small_until = 32 << 10;  // offset in the stream

  // Of the block that holds the byte at the offset.
  static std::size_t size_at(std::uint64_t offset) {
    return offset < k_small_until ? k_small : k_large;
  }
  // Which block of the stream that is.
  static std::uint64_t index_at(std::uint64_t offset) {
    constexpr std::uint64_t k_small_blocks = k_small_until / k_small;
    return offset < k_small_until ? offset / k_small
                                  : k_small_blocks + (offset - k_small_until) / k_large;
  }
  // Where in its block the byte is.
  static std::size_t position_at(std::uint64_t offset) { return offset & (size_at(offset) - 1); }
  // Memory of a block, in bytes.
  static std::size_t footprint(std::size_t size) { return sizeof(Block) + size / 8 + size; }

  std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(this + 1); }
  const std::uint8_t* bytes() const { return const_cast<Block*>(this)->bytes(); }
  // Uninitialized while `has_received` is false.
  std::uint64_t* received() { return reinterpret_cast<std::uint64_t*>(bytes() + size); }
  const std::uint64_t* received() const { return const_cast<Block*>(this)->received(); }

  Block* next_free = nullptr;
  std::uint32_t size = 0;  // k_small or k_large
  bool has_received = false;
};

// The blocks of one connection. Keeps as many free ones of each size as are in use; of what is
// beyond that, a thread keeps a little for all its connections. So a steady flow never allocates,
// be it read often or seldom.
class BlockPool {
 public:
  BlockPool() = default;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool() { trim(); }

  // `size`: Block::k_small or Block::k_large.
  Block* take(std::size_t size);
  void give_back(Block* block);
  // Frees what is not in use, of this connection.
  void trim();
  // Of all blocks, in bytes.
  std::size_t memory_bytes() const;

 private:
  struct Blocks {
    Block* free = nullptr;
    std::size_t free_count = 0;
    std::size_t in_use = 0;
  };
  Blocks& of_size(std::size_t size) { return size == Block::k_small ? small_ : large_; }

  Blocks small_;
  Blocks large_;
};

}  // namespace sheaf::quic
