#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "direct_return/payload_source.h"
#include "util/interval_set.h"
#include "wire/types.h"

namespace sheaf::quic {

// A stream that a backend sends by its own decision: what was sent, lost and acknowledged of it.
// The bytes themselves stay where they are, and are read anew each time.
class SentStream {
 public:
  // `begin` is the first offset to send, `limit` that of the first byte that must not be sent yet.
  SentStream(StreamId id, std::unique_ptr<PayloadSource> source, std::uint64_t begin,
             std::uint64_t limit)
      : id_(id), source_(std::move(source)), next_(begin), limit_(limit), delivered_(begin) {
    acknowledged_.insert(0, begin);
  }

  StreamId id() const { return id_; }
  // The gateway knows that this backend sends the stream.
  void on_word(std::uint64_t limit) {
    limit_ = std::max(limit_, limit);
    may_end_ = true;
  }
  // All bytes before it have arrived.
  std::uint64_t delivered() const { return delivered_; }

  struct Piece {
    std::uint64_t offset = 0;
    std::size_t length = 0;
    bool fin = false;
  };
  // Returns what to send next, in at most so many bytes: first what was lost.
  std::optional<Piece> next(std::size_t room) const {
    if (!lost_.empty()) return piece(lost_.front().start, lost_.front().end, room);
    std::uint64_t end = std::min(limit_, source_->available());
    // A gateway that does not know of the end may reset the stream with another final size. The
    // last byte waits, too, so that it takes the end along.
    if (!may_end_ && source_->end() == end) --end;
    if (next_ >= end) return std::nullopt;
    return piece(next_, end, room);
  }
  PayloadRead read(const Piece& piece, MutableBytes out) {
    return source_->read(piece.offset, out.first(piece.length));
  }
  void on_sent(const Piece& piece) {
    const std::uint64_t end = piece.offset + piece.length;
    lost_.erase(piece.offset, end);
    next_ = std::max(next_, end);
  }
  // Frames of an earlier grant for the stream may be among these, beyond what this one sent.
  // Returns whether more of the stream has arrived without a gap.
  bool on_acknowledged(std::uint64_t offset, std::uint64_t length) {
    const std::uint64_t until = std::min(offset + length, next_);
    acknowledged_.insert(offset, until);
    lost_.erase(offset, until);
    const std::uint64_t end = acknowledged_.first_gap();
    if (end <= delivered_) return false;
    delivered_ = end;
    source_->release(end);
    return true;
  }
  void on_lost(std::uint64_t offset, std::uint64_t length) {
    const std::uint64_t end = std::min(offset + length, next_);
    while (offset < end) {
      const auto known = acknowledged_.find(offset);
      const std::uint64_t until = known == acknowledged_.end() ? end : std::min(end, known->start);
      lost_.insert(offset, until);
      offset = known == acknowledged_.end() ? end : std::max(until, known->end);
    }
  }

 private:
  Piece piece(std::uint64_t from, std::uint64_t to, std::size_t room) const {
    const std::uint64_t length = std::min<std::uint64_t>(to - from, room);
    return {from, std::size_t(length), source_->end() == from + length};
  }

  StreamId id_;
  std::unique_ptr<PayloadSource> source_;
  std::uint64_t next_;  // never sent from here on
  std::uint64_t limit_;
  std::uint64_t delivered_;
  bool may_end_ = false;
  IntervalSet acknowledged_;
  IntervalSet lost_;
};

}  // namespace sheaf::quic
