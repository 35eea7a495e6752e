#pragma once

#include "stream/block_pool.h"
#include "util/bytes.h"
#include "util/ring.h"

namespace sheaf::quic {

// Puts the bytes of one stream in order. Bytes go straight to their place in pooled blocks. Memory
// is therefore bounded by the flow control window that the caller enforces, whatever the size,
// order and overlap of the fragments, and a fragment costs time in proportion to its own length.
class Reassembler {
 public:
  Reassembler() = default;
  Reassembler(const Reassembler&) = delete;
  Reassembler& operator=(const Reassembler&) = delete;
  ~Reassembler() { clear(); }

  // Starts over at offset 0 with blocks from `pool`, which must outlive this object.
  void open(BlockPool& pool);
  // Stores a fragment. RFC 9000 §2.2: bytes at an offset never change, so bytes that are already
  // there may be written again. Bytes that may have been read are left alone.
  void write(std::uint64_t offset, Bytes data);

  std::uint64_t read_offset() const { return read_offset_; }
  std::uint64_t contiguous_end() const { return contiguous_end_; }  // readable up to here
  // Returns the number of bytes that arrived behind a gap. Bytes that arrived twice may count
  // twice.
  std::uint64_t waiting_bytes() const { return waiting_bytes_; }
  // Returns readable bytes up to the end of a block, or an empty span when none are readable.
  Bytes peek() const;
  // Copies readable bytes across blocks without consuming them, and returns their number.
  std::size_t copy_to(MutableBytes out) const;
  // `bytes` must not exceed the readable ones.
  void consume(std::uint64_t bytes);
  // Returns all blocks to the pool, so that nothing is readable.
  void clear();

 private:
  Block& block_at(std::uint64_t offset);
  void write_in_order(Bytes data);
  void write_out_of_order(std::uint64_t offset, Bytes data);
  void join_out_of_order();

  BlockPool* pool_ = nullptr;
  // blocks_[i] is block first_block_ + i of the stream (`Block::index_at`), or null.
  Ring<Block*> blocks_;
  std::uint64_t first_block_ = 0;
  std::uint64_t read_offset_ = 0;
  std::uint64_t contiguous_end_ = 0;
  std::uint64_t stored_end_ = 0;  // the offset behind the last byte that has arrived
  std::uint64_t waiting_bytes_ = 0;
};

}  // namespace sheaf::quic
