#include "stream/send_stream.h"

#include <algorithm>

namespace sheaf::quic {

void SendStream::open(std::uint64_t limit) {
  buffer_.clear();
  lost_ = {};
  limit_ = SendLimit(limit);
  reset_ = {};
  state_ = State::kSend;
  elsewhere_ = {};
  fin_written_ = fin_due_ = fin_acknowledged_ = reset_acknowledged_ = false;
}

void SendStream::write(SendChunk chunk, bool fin) {
  buffer_.append(std::move(chunk));
  if (fin) end_written();
}

void SendStream::append_remote(std::uint64_t bytes, bool fin) {
  buffer_.append_remote(bytes);
  if (fin) end_written();
}

std::uint64_t SendStream::permit_remote(std::uint64_t bytes) {
  const std::uint64_t from = limit_.used();
  bytes = std::min(bytes, limit_.available());
  // What is behind the end of the buffer is nobody's yet, unless the end is known.
  if (from < buffer_.end() || fin_written_) {
    const Segment next = cut(new_segment());
    if (next.length > 0 && !next.remote) return 0;
    bytes = std::min(bytes, next.length);
  }
  on_sent({from, bytes, true, true});
  return bytes;
}

void SendStream::replace(std::uint64_t offset, SendChunk chunk, bool fin) {
  buffer_.replace(offset, std::move(chunk));
  if (fin) end_written();
}

void SendStream::end_written() {
  fin_written_ = true;
  fin_due_ = true;
}

bool SendStream::reset(std::uint64_t error, bool permit_reliable) {
  if (was_reset() || terminal()) return false;
  reset_.reliable_size = permit_reliable ? std::min(reset_.reliable_size, buffer_.end()) : 0;
  reset_.acknowledged = buffer_.acknowledged();
  // Bytes beyond the reliable size need not be kept.
  buffer_.acknowledge(reset_.reliable_size, buffer_.end() - reset_.reliable_size);
  lost_.erase(reset_.reliable_size, k_max_varint);
  fin_written_ = fin_due_ = false;
  reset_.error = error;
  state_ = State::kResetSent;
  return true;
}

SendStream::Sendability SendStream::sendability() const {
  if (elsewhere_.withheld) {
    const std::optional<Segment> here = next_here();
    if (!here) return Sendability::kNothing;
    return here->is_new ? Sendability::kNewData : Sendability::kNowPossible;
  }
  if (!lost_.empty()) return Sendability::kNowPossible;
  if (unsent_bytes() == 0) return fin_due_ ? Sendability::kNowPossible : Sendability::kNothing;
  return limit_.available() > 0 ? Sendability::kNewData : Sendability::kNothing;
}

SendStream::Segment SendStream::cut(Segment segment) const {
  if (segment.length == 0) return segment;
  const SendBuffer::Part part = buffer_.part_at(segment.offset);
  segment.length = std::min(segment.length, part.end - segment.offset);
  segment.remote = part.remote;
  return segment;
}

SendStream::Segment SendStream::next_part() const {
  if (elsewhere_.withheld) return next_here().value_or(Segment{});
  return cut(lost_.empty() ? new_segment() : lost_segment());
}

std::optional<SendStream::Segment> SendStream::next_here() const {
  for (const Interval& lost : lost_) {
    for (std::uint64_t start = lost.start; start < lost.end;) {
      const Segment segment = cut({start, lost.end - start});
      if (!segment.remote) return segment;
      start += segment.length;
    }
  }
  const Segment segment = cut(new_segment());
  const bool only_end = unsent_bytes() == 0 && fin_due_;
  if (segment.remote || (segment.length == 0 && !only_end)) return std::nullopt;
  return segment;
}

std::optional<SendStream::Segment> SendStream::first_unacknowledged(std::uint64_t offset,
                                                                    std::uint64_t length) const {
  std::optional<Segment> first;
  buffer_.for_each_unacknowledged(offset, offset + length,
                                  [&](std::uint64_t start, std::uint64_t end) {
                                    if (!first) first = Segment{start, end - start};
                                  });
  return first;
}

void SendStream::on_sent(const Segment& sent) {
  if (sent.is_new) {
    limit_.consume(sent.length);
  } else {
    lost_.erase(sent.offset, sent.offset + sent.length);
  }
  if (!ends_at(sent.offset + sent.length)) return;
  fin_due_ = false;
  if (state_ == State::kSend) state_ = State::kDataSent;
}

bool SendStream::on_acknowledged(std::uint64_t offset, std::uint64_t length, bool fin) {
  if (terminal()) return false;
  const std::uint64_t before = buffer_.acknowledged();
  buffer_.acknowledge(offset, length);
  if (!lost_.empty()) lost_.erase(offset, offset + length);
  if (fin) {
    fin_acknowledged_ = true;
    fin_due_ = false;
  }
  return settle() || buffer_.acknowledged() > before;
}

bool SendStream::settle() {
  const bool end_known = was_reset() ? reset_acknowledged_ : fin_acknowledged_;
  if (!end_known || buffer_.acknowledged() < buffer_.end()) return false;
  state_ = was_reset() ? State::kResetReceived : State::kDataReceived;
  return true;
}

void SendStream::on_lost(std::uint64_t offset, std::uint64_t length, bool fin) {
  if (terminal()) return;
  buffer_.for_each_unacknowledged(
      offset, offset + length,
      [this](std::uint64_t start, std::uint64_t end) { lost_.insert(start, end); });
  if (fin && fin_written_ && !fin_acknowledged_) fin_due_ = true;
}

void SendStream::on_reset_acknowledged() {
  reset_acknowledged_ = true;
  settle();
}

void SendStream::restart() {
  lost_ = {};
  limit_.forget_used();
  if (was_reset()) {
    // The peer may no longer support RESET_STREAM_AT.
    reset_.reliable_size = reset_.acknowledged = 0;
    buffer_.acknowledge(0, buffer_.end());
    return;
  }
  state_ = State::kSend;
  fin_due_ = fin_written_;
}

}  // namespace sheaf::quic
