#pragma once

#include "stream/block_pool.h"
#include "util/bytes.h"
#include "util/ring.h"

namespace sheaf::quic {

// Puts the bytes of one stream in order. Bytes go straight to their place in pooled blocks, so
// memory is bounded by the flow control window that the caller enforces, whatever the size, order
// and overlap of the fragments, and each fragment costs time in proportion to its own length.
class Reassembler {
 public:
  Reassembler() = default;
  Reassembler(const Reassembler&) = delete;
  Reassembler& operator=(const Reassembler&) = delete;
  ~Reassembler() { clear(); }

  // Starts over at offset 0 with blocks from `pool`, which must outlive this object.
  void open(BlockPool& pool);
  // RFC 9000 §2.2: bytes at an offset never change, so ones that are there already may be written
  // again; those that may have been read are not touched.
  void write(std::uint64_t offset, Bytes data);

  std::uint64_t read_offset() const { return read_offset_; }
  std::uint64_t contiguous_end() const { return contiguous_end_; }  // readable up to here
  // Bytes that arrived behind a gap; those that arrived twice may count twice.
  std::uint64_t waiting_bytes() const { return waiting_bytes_; }
  // Readable bytes up to the end of a block; empty when nothing is readable.
  Bytes peek() const;
  // Copies readable bytes across blocks, without consuming them; returns how many.
  std::size_t copy_to(MutableBytes out) const;
  // At most what is readable.
  void consume(std::uint64_t bytes);
  // Gives all blocks back: nothing is readable then.
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
  std::uint64_t stored_end_ = 0;  // end of the furthest byte that arrived
  std::uint64_t waiting_bytes_ = 0;
};

}  // namespace sheaf::quic
