#include "stream/reassembler.h"

#include <algorithm>
#include <bit>

namespace sheaf::quic {

namespace {

// Entries of the block table that an idle stream keeps for its successor: a window of 256 KiB.
constexpr std::size_t k_kept_places = 128;

// Sets bits [from, to) of a block.
void mark_received(Block& block, std::size_t from, std::size_t to) {
  std::uint64_t* const received = block.received();
  if (!block.has_received) {
    std::fill_n(received, block.size / 64, 0);
    block.has_received = true;
  }
  while (from < to) {
    const std::size_t bit = from % 64;
    const std::size_t count = std::min(64 - bit, to - from);
    const std::uint64_t ones = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    received[from / 64] |= ones << bit;
    from += count;
  }
}

// Returns the first position, at or after `from`, whose bit is not set.
std::size_t first_missing(const Block& block, std::size_t from) {
  if (!block.has_received) return from;
  while (from < block.size) {
    const auto ones =
        static_cast<std::size_t>(std::countr_one(block.received()[from / 64] >> (from % 64)));
    from += ones;
    if (from % 64 != 0 || ones == 0) break;
  }
  return from;
}

// Calls the library's memcpy. When the compiler can tell that a block is small, it prefers to emit
// `rep movs`, which is several times slower for the bytes of a packet.
void copy(std::uint8_t* to, Bytes from) {
  std::size_t length = from.size();
  asm volatile("" : "+r"(length));
  std::memcpy(to, from.data(), length);
}

}  // namespace

void Reassembler::open(BlockPool& pool) {
  clear();
  pool_ = &pool;
  first_block_ = 0;
  read_offset_ = contiguous_end_ = stored_end_ = 0;
  waiting_bytes_ = 0;
}

void Reassembler::write(std::uint64_t offset, Bytes data) {
  if (offset < contiguous_end_) {
    const std::uint64_t known = contiguous_end_ - offset;
    if (known >= data.size()) return;
    data = data.subspan(known);
    offset = contiguous_end_;
  }
  if (data.empty()) return;
  if (offset > contiguous_end_) {
    write_out_of_order(offset, data);
    return;
  }
  write_in_order(data);
  if (contiguous_end_ < stored_end_) {
    const std::uint64_t before = contiguous_end_;
    join_out_of_order();
    waiting_bytes_ -= std::min(waiting_bytes_, contiguous_end_ - before);
  }
  if (contiguous_end_ >= stored_end_) {
    stored_end_ = contiguous_end_;
    waiting_bytes_ = 0;
  }
}

Block& Reassembler::block_at(std::uint64_t offset) {
  const std::uint64_t index = Block::index_at(offset) - first_block_;
  while (blocks_.size() <= index) blocks_.push_back(nullptr);
  Block*& block = blocks_[index];
  if (block == nullptr) block = pool_->take(Block::size_at(offset));
  return *block;
}

void Reassembler::write_in_order(Bytes data) {
  while (!data.empty()) {
    const std::size_t position = Block::position_at(contiguous_end_);
    Block& block = block_at(contiguous_end_);
    const std::size_t part = std::min<std::size_t>(data.size(), block.size - position);
    copy(block.bytes() + position, data.first(part));
    contiguous_end_ += part;
    data = data.subspan(part);
  }
}

void Reassembler::write_out_of_order(std::uint64_t offset, Bytes data) {
  stored_end_ = std::max(stored_end_, offset + data.size());
  waiting_bytes_ += data.size();
  while (!data.empty()) {
    const std::size_t position = Block::position_at(offset);
    Block& block = block_at(offset);
    const std::size_t part = std::min<std::size_t>(data.size(), block.size - position);
    copy(block.bytes() + position, data.first(part));
    mark_received(block, position, position + part);
    offset += part;
    data = data.subspan(part);
  }
}

void Reassembler::join_out_of_order() {
  while (contiguous_end_ < stored_end_) {
    const Block* block = blocks_[Block::index_at(contiguous_end_) - first_block_];
    if (block == nullptr) return;
    const std::size_t position = Block::position_at(contiguous_end_);
    const std::size_t missing = first_missing(*block, position);
    contiguous_end_ += missing - position;
    if (missing < block->size) return;
  }
}

Bytes Reassembler::peek() const {
  if (read_offset_ == contiguous_end_) return {};
  const Block& block = *blocks_.front();
  const std::size_t position = Block::position_at(read_offset_);
  const std::uint64_t readable = contiguous_end_ - read_offset_;
  const std::size_t length = std::min<std::uint64_t>(readable, block.size - position);
  return {block.bytes() + position, length};
}

std::size_t Reassembler::copy_to(MutableBytes out) const {
  const std::size_t size = std::min<std::uint64_t>(out.size(), contiguous_end_ - read_offset_);
  std::uint64_t offset = read_offset_;
  for (std::size_t done = 0; done < size;) {
    const Block& block = *blocks_[Block::index_at(offset) - first_block_];
    const std::size_t position = Block::position_at(offset);
    const std::size_t part = std::min<std::size_t>(size - done, block.size - position);
    copy(out.data() + done, {block.bytes() + position, part});
    done += part;
    offset += part;
  }
  return size;
}

void Reassembler::consume(std::uint64_t bytes) {
  read_offset_ += bytes;
  // An idle stream holds no block.
  const bool drained = read_offset_ == stored_end_;
  const std::uint64_t next = Block::index_at(read_offset_);
  while (!blocks_.empty() && (drained || first_block_ < next)) {
    pool_->give_back(blocks_.front());
    blocks_.pop_front();
    ++first_block_;
  }
  if (blocks_.empty()) first_block_ = next;
}

void Reassembler::clear() {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i] != nullptr) pool_->give_back(blocks_[i]);
  }
  blocks_.clear_and_keep(k_kept_places);
  read_offset_ = stored_end_ = contiguous_end_;
  waiting_bytes_ = 0;
  first_block_ = Block::index_at(read_offset_);
}

}  // namespace sheaf::quic
