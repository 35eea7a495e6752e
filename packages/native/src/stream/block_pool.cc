#include "stream/block_pool.h"

#include <algorithm>
#include <utility>

namespace sheaf::quic {

BlockPool::~BlockPool() { trim(); }

Block* BlockPool::take() {
  ++in_use_;
  Block* block = free_;
  if (block == nullptr) {
    block = new Block;
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
    delete std::exchange(free_, free_->next_free);
    --free_count_;
  }
}

void BlockPool::trim() {
  while (free_ != nullptr) delete std::exchange(free_, free_->next_free);
  free_count_ = 0;
}

}  // namespace sheaf::quic
