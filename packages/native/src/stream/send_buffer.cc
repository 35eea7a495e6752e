#include "stream/send_buffer.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sheaf::quic {

namespace {

// Number of pieces whose room an idle buffer keeps for its next stream.
constexpr std::size_t k_kept_pieces = 16;

}  // namespace

void SendBuffer::append(SendChunk chunk) {
  const std::uint64_t size = chunk.bytes().size();
  if (size == 0) return;
  pieces_.push_back(
      {.chunk = std::move(chunk), .start = end_, .unacknowledged = size, .size = size});
  end_ += size;
  held_bytes_ += size;
}

void SendBuffer::append_remote(std::uint64_t size) {
  if (size == 0) return;
  if (!pieces_.empty() && pieces_.back().remote()) {
    pieces_.back().size += size;
    pieces_.back().unacknowledged += size;
  } else {
    pieces_.push_back({.chunk = {}, .start = end_, .unacknowledged = size, .size = size});
  }
  end_ += size;
}

void SendBuffer::replace(std::uint64_t offset, SendChunk chunk) {
  const Bytes bytes = chunk.bytes();
  const std::uint64_t end = offset + bytes.size();
  if (end <= std::max(offset, acknowledged_)) return;
  assert(offset <= end_);
  // Bytes that are here already stay where they are, and split the chunk.
  const bool whole = !any_here(offset, end);
  const std::uint64_t begin = whole ? offset : std::max(offset, acknowledged_);
  std::uint64_t next = begin;  // all new bytes before it have a place
  const auto fill = [&](std::uint64_t to) {
    if (next >= to) return;
    put(whole ? std::move(chunk) : SendChunk::copy_of(bytes.subspan(next - offset, to - next)),
        next, to);
    next = to;
  };
  Ring<Piece> before = std::exchange(pieces_, {});
  for (std::size_t i = 0; i < before.size(); ++i) {
    Piece& piece = before[i];
    const bool replaced = piece.remote() && piece.end() > begin && piece.start < end;
    if (!replaced) {
      if (piece.end() > begin) fill(std::min(piece.start, end));
      next = std::max(next, std::min(piece.end(), end));
      pieces_.push_back(std::move(piece));
      continue;
    }
    put({}, piece.start, begin);
    if (piece.end() <= end) continue;
    fill(end);
    put({}, end, piece.end());
  }
  fill(end);
  end_ = std::max(end_, end);
  cursor_ = 0;
}

bool SendBuffer::any_here(std::uint64_t start, std::uint64_t end) const {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    if (!piece.remote() && piece.start < end && piece.end() > start) return true;
  }
  return false;
}

void SendBuffer::put(SendChunk chunk, std::uint64_t start, std::uint64_t end) {
  if (start >= end) return;
  std::uint64_t left = 0;
  for_each_unacknowledged(start, end,
                          [&](std::uint64_t from, std::uint64_t to) { left += to - from; });
  if (left == 0) chunk = {};  // it arrived before, behind a gap
  held_bytes_ += chunk.bytes().size();
  pieces_.push_back(
      {.chunk = std::move(chunk), .start = start, .unacknowledged = left, .size = end - start});
}

SendBuffer::Part SendBuffer::part_at(std::uint64_t offset) const {
  std::size_t index = find(offset);
  Part part{pieces_[index].end(), pieces_[index].remote()};
  while (++index < pieces_.size() && pieces_[index].remote() == part.remote) {
    part.end = pieces_[index].end();
  }
  return part;
}

std::size_t SendBuffer::find(std::uint64_t offset) const {
  const auto contains = [&](std::size_t index) {
    return index < pieces_.size() && pieces_[index].start <= offset &&
           offset < pieces_[index].end();
  };
  if (contains(cursor_)) return cursor_;
  if (contains(cursor_ + 1)) return cursor_ + 1;
  std::size_t low = 0;
  std::size_t high = pieces_.size();
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (pieces_[middle].start <= offset ? low : high) = middle;
  }
  return low;
}

void SendBuffer::copy(std::uint64_t offset, std::size_t length, Writer& writer) {
  if (length == 0) return;
  std::size_t index = find(offset);
  for (;; ++index) {
    const Piece& piece = pieces_[index];
    assert(!piece.remote());
    const std::size_t skipped = offset - piece.start;
    const std::size_t taken = std::min<std::size_t>(length, piece.size - skipped);
    writer.write_bytes(piece.chunk.bytes().subspan(skipped, taken));
    offset += taken;
    length -= taken;
    if (length == 0) break;
  }
  cursor_ = index;
}

void SendBuffer::acknowledge(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t end = offset + length;
  for_each_unacknowledged(offset, end,
                          [this](std::uint64_t from, std::uint64_t to) { release(from, to); });
  if (offset > acknowledged_) {
    beyond_.insert(offset, end);
    return;
  }
  acknowledged_ = std::max(acknowledged_, end);
  if (beyond_.empty()) return;
  acknowledged_ = beyond_.first_gap(acknowledged_);
  beyond_.erase(0, acknowledged_);
}

void SendBuffer::release(std::uint64_t start, std::uint64_t end) {
  // The front piece, when acknowledgements arrive in order.
  std::size_t index = start < pieces_.front().end() ? 0 : find(start);
  while (start < end) {
    Piece& piece = pieces_[index++];
    const std::uint64_t part = std::min(end, piece.end()) - start;
    start += part;
    piece.unacknowledged -= part;
    if (piece.unacknowledged > 0) continue;
    held_bytes_ -= piece.chunk.bytes().size();
    piece.chunk = {};
  }
  while (!pieces_.empty() && pieces_.front().unacknowledged == 0) {
    pieces_.pop_front();
    if (cursor_ > 0) --cursor_;
  }
}

void SendBuffer::clear() {
  pieces_.clear_and_keep(k_kept_pieces);
  beyond_ = {};
  acknowledged_ = end_ = held_bytes_ = 0;
  cursor_ = 0;
}

}  // namespace sheaf::quic
