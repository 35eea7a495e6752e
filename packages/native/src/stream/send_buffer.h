#pragma once

#include "stream/send_chunk.h"
#include "util/interval_set.h"
#include "util/ring.h"

namespace sheaf::quic {

// Holds the bytes that the application wrote to one stream and that are not acknowledged. Each
// chunk is released as soon as all of it is acknowledged, in any order. Bytes may be remote:
// another node has them, and only their acknowledgement is known here.
class SendBuffer {
 public:
  std::uint64_t end() const { return end_; }                    // bytes written
  std::uint64_t acknowledged() const { return acknowledged_; }  // all bytes below this offset are
  std::uint64_t held_bytes() const { return held_bytes_; }      // in chunks not yet released

  void append(SendChunk chunk);
  void append_remote(std::uint64_t size);
  // Puts bytes at the place of remote ones. They begin at or before the end and may reach beyond
  // it. Those that are acknowledged, or here already, stay as they are.
  void replace(std::uint64_t offset, SendChunk chunk);
  // Bytes that are all remote, or all here.
  struct Part {
    std::uint64_t end = 0;
    bool remote = false;
  };
  // Returns the rest of the part that contains the offset, which is not acknowledged.
  Part part_at(std::uint64_t offset) const;
  // Writes bytes that are in the buffer, neither acknowledged nor remote.
  void copy(std::uint64_t offset, std::size_t length, Writer& writer);
  void acknowledge(std::uint64_t offset, std::uint64_t length);
  // Visits the parts of [start, end) that are not acknowledged.
  template <typename Visit>
  void for_each_unacknowledged(std::uint64_t start, std::uint64_t end, Visit&& visit) const {
    if (start < acknowledged_) start = acknowledged_;
    for (auto i = beyond_.find(start); i != beyond_.end() && i->start < end; ++i) {
      if (start < i->start) visit(start, i->start);
      start = i->end;
    }
    if (start < end) visit(start, end);
  }
  // Releases everything.
  void clear();

 private:
  struct Piece {
    SendChunk chunk;  // empty when the bytes are remote, or all of them acknowledged
    std::uint64_t start = 0;
    std::uint64_t unacknowledged = 0;  // bytes
    std::uint64_t end() const { return start + size; }
    bool remote() const { return chunk.bytes().empty(); }
    std::uint64_t size = 0;
  };

  // Returns the index of the piece that contains the offset.
  std::size_t find(std::uint64_t offset) const;
  bool any_here(std::uint64_t start, std::uint64_t end) const;
  void release(std::uint64_t start, std::uint64_t end);
  // Adds a piece behind the others, unless it is empty.
  void put(SendChunk chunk, std::uint64_t start, std::uint64_t end);

  Ring<Piece> pieces_;
  IntervalSet beyond_;  // acknowledged bytes above a gap
  std::uint64_t acknowledged_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t held_bytes_ = 0;
  // The piece where `copy` last ended, counted from the front piece: most copies continue there.
  std::size_t cursor_ = 0;
};

}  // namespace sheaf::quic
