#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sheaf::quic {

// Heads the memory for one aligned stretch of a stream's received bytes. The bytes follow this
// head, and then a bit for each byte that arrived out of order. Whatever the pattern of fragments,
// these bits cost no more than an eighth of the window.
struct Block {
  // A stream begins with small blocks, because a peer may open many streams and send one byte on
  // each. Beyond its first 32 KiB it has used so much credit that a large block costs little beside
  // it.
  static constexpr std::size_t k_small = 512;
  static constexpr std::size_t k_large = 4096;
  static constexpr std::uint64_t k_small_until = 32 << 10;  // offset in the stream

  // Returns the size, in bytes, of the block that holds the byte at `offset`.
  static std::size_t size_at(std::uint64_t offset) {
    return offset < k_small_until ? k_small : k_large;
  }
  // Returns the index of this block in its stream.
  static std::uint64_t index_at(std::uint64_t offset) {
    constexpr std::uint64_t k_small_blocks = k_small_until / k_small;
    return offset < k_small_until ? offset / k_small
                                  : k_small_blocks + (offset - k_small_until) / k_large;
  }
  // Returns the position of the byte in its block.
  static std::size_t position_at(std::uint64_t offset) { return offset & (size_at(offset) - 1); }
  // Returns the memory of a block, in bytes.
  static constexpr std::size_t footprint(std::size_t size) {
    return sizeof(Block) + size / 8 + size;
  }

  std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(this + 1); }
  const std::uint8_t* bytes() const { return const_cast<Block*>(this)->bytes(); }
  // Uninitialized while `has_received` is false.
  std::uint64_t* received() { return reinterpret_cast<std::uint64_t*>(bytes() + size); }
  const std::uint64_t* received() const { return const_cast<Block*>(this)->received(); }

  Block* next_free = nullptr;
  std::uint32_t size = 0;  // k_small or k_large
  bool has_received = false;
};

// Allocates the blocks of one connection. Keeps as many free blocks of each size as are in use. A
// thread keeps a limited number of further ones for all its connections. A steady flow therefore
// never allocates, whether the application reads often or seldom.
class BlockPool {
 public:
  BlockPool() = default;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool() { trim(); }

  // `size` is Block::k_small or Block::k_large.
  Block* take(std::size_t size);
  void give_back(Block* block);
  // Frees the blocks of this connection that are not in use.
  void trim();
  // Notes by how many entries the block tables of all streams grew.
  void count_places(std::ptrdiff_t more) { places_ += more; }
  // Returns whether block tables should give back memory that they do not need.
  bool many_places() const { return places_ > k_kept_places; }
  // These return the memory of all blocks, and of the block tables of all streams, in bytes.
  std::size_t memory_bytes() const;
  std::size_t table_bytes() const { return static_cast<std::size_t>(places_) * k_of_place; }

 private:
  static constexpr std::ptrdiff_t k_kept_places = 8 << 10;
  static constexpr std::size_t k_of_place = sizeof(void*);
  struct Blocks {
    Block* free = nullptr;
    std::size_t free_count = 0;
    std::size_t in_use = 0;
  };
  Blocks& of_size(std::size_t size) { return size == Block::k_small ? small_ : large_; }

  Blocks small_;
  Blocks large_;
  std::ptrdiff_t places_ = 0;
};

}  // namespace sheaf::quic
