#include "stream/block_pool.h"

#include <algorithm>

namespace sheaf::quic {

BlockPool::~BlockPool() {
  while (free_ != nullptr) {
    Block* next = free_->next_free;
    delete free_;
    free_ = next;
  }
}

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
  if (free_count_ >= std::max(k_kept, in_use_)) {
    delete block;
    return;
  }
  block->next_free = free_;
  free_ = block;
  ++free_count_;
}

}  // namespace sheaf::quic
