#include "stream/block_pool.h"

#include <algorithm>
#include <new>
#include <utility>

namespace sheaf::quic {

namespace {

// Minimum number of free blocks that a connection keeps: those of a batch of 32 full packets.
constexpr std::size_t k_kept = 16;

Block* make(std::size_t size) {
  Block* block = new (::operator new(Block::footprint(size))) Block;
  block->size = static_cast<std::uint32_t>(size);
  return block;
}

void destroy(Block* block) { ::operator delete(block); }

// Keeps free blocks of one size that belong to no connection.
class SpareBlocks {
 public:
  // Keeps at most `bytes`.
  SpareBlocks(std::size_t size, std::size_t bytes) : size_(size), most_(bytes / size) {}
  SpareBlocks(const SpareBlocks&) = delete;
  SpareBlocks& operator=(const SpareBlocks&) = delete;
  ~SpareBlocks() {
    while (first_ != nullptr) destroy(std::exchange(first_, first_->next_free));
  }

  Block* take() {
    if (first_ == nullptr) return make(size_);
    --count_;
    return std::exchange(first_, first_->next_free);
  }
  void give_back(Block* block) {
    if (count_ == most_) {
      destroy(block);
      return;
    }
    block->next_free = std::exchange(first_, block);
    ++count_;
  }

 private:
  std::size_t size_;
  std::size_t most_;
  Block* first_ = nullptr;
  std::size_t count_ = 0;
};

// Hold the data that arrives in a turn of the event loop and is read at its end.
thread_local SpareBlocks spare_large(Block::k_large, 1 << 20);
thread_local SpareBlocks spare_small(Block::k_small, 256 << 10);

SpareBlocks& spare(std::size_t size) { return size == Block::k_small ? spare_small : spare_large; }

}  // namespace

Block* BlockPool::take(std::size_t size) {
  Blocks& blocks = of_size(size);
  ++blocks.in_use;
  Block* block = blocks.free;
  if (block == nullptr) {
    block = spare(size).take();
  } else {
    blocks.free = block->next_free;
    --blocks.free_count;
  }
  block->has_received = false;
  return block;
}

void BlockPool::give_back(Block* block) {
  const std::size_t size = block->size;
  Blocks& blocks = of_size(size);
  --blocks.in_use;
  block->next_free = blocks.free;
  blocks.free = block;
  ++blocks.free_count;
  while (blocks.free_count > std::max(k_kept, blocks.in_use)) {
    spare(size).give_back(std::exchange(blocks.free, blocks.free->next_free));
    --blocks.free_count;
  }
}

void BlockPool::trim() {
  for (Blocks* blocks : {&small_, &large_}) {
    while (blocks->free != nullptr) destroy(std::exchange(blocks->free, blocks->free->next_free));
    blocks->free_count = 0;
  }
}

std::size_t BlockPool::memory_bytes() const {
  return (small_.in_use + small_.free_count) * Block::footprint(Block::k_small) +
         (large_.in_use + large_.free_count) * Block::footprint(Block::k_large);
}

}  // namespace sheaf::quic
