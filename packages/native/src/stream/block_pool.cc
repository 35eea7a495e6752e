#include "stream/block_pool.h"

#include <algorithm>
#include <utility>

namespace sheaf::quic {

namespace {

// Free blocks of no connection.
class SpareBlocks {
 public:
  SpareBlocks() = default;
  SpareBlocks(const SpareBlocks&) = delete;
  SpareBlocks& operator=(const SpareBlocks&) = delete;
  ~SpareBlocks() {
    while (first_ != nullptr) delete std::exchange(first_, first_->next_free);
  }

  Block* take() {
    if (first_ == nullptr) return new Block;
    --count_;
    return std::exchange(first_, first_->next_free);
  }
  void give_back(Block* block) {
    if (count_ == k_kept) {
      delete block;
      return;
    }
    block->next_free = std::exchange(first_, block);
    ++count_;
  }

 private:
  // As much as arrives in a turn of the event loop, and is read at its end.
  static constexpr std::size_t k_kept = (1 << 20) / Block::k_size;

  Block* first_ = nullptr;
  std::size_t count_ = 0;
};

thread_local SpareBlocks spare;

}  // namespace

BlockPool::~BlockPool() { trim(); }

Block* BlockPool::take() {
  ++in_use_;
  Block* block = free_;
  if (block == nullptr) {
    block = spare.take();
  } else {
    free_ = block->next_free;
    --free_count_;
  }
  block->has_received = false;
  return block;
}

void BlockPool::give_back(Block* block) {
  --in_use_;
  block->next_free = free_;
  free_ = block;
  ++free_count_;
  while (free_count_ > std::max(k_kept, in_use_)) {
    spare.give_back(std::exchange(free_, free_->next_free));
    --free_count_;
  }
}

void BlockPool::trim() {
  while (free_ != nullptr) delete std::exchange(free_, free_->next_free);
  free_count_ = 0;
}

}  // namespace sheaf::quic
