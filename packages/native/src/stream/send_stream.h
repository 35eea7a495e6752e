#pragma once

#include <algorithm>
#include <optional>

#include "flow_control/send_limit.h"
#include "stream/send_buffer.h"

namespace sheaf::quic {

// Implements the sending part of a stream (RFC 9000 §3.1). "Ready" and "Send" are one state here,
// since nothing depends on whether the first frame has left.
class SendStream {
 public:
  enum class State : std::uint8_t { kSend, kDataSent, kDataReceived, kResetSent, kResetReceived };
  // The kind of data that can go into STREAM frames now.
  enum class Sendability : std::uint8_t {
    kNothing,
    kNewData,     // also needs credit of the connection
    kNowPossible  // lost data, or an end without data, neither of which needs credit
  };
  // The content of the next STREAM frame, if a packet has room for it.
  struct Segment {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    bool is_new = false;  // counts against the connection's limit
    bool remote = false;  // another node has the bytes
  };

  void open(std::uint64_t limit);

  State state() const { return state_; }
  bool terminal() const {
    return state_ == State::kDataReceived || state_ == State::kResetReceived;
  }
  bool was_reset() const { return state_ == State::kResetSent || state_ == State::kResetReceived; }
  SendLimit& limit() { return limit_; }
  const SendLimit& limit() const { return limit_; }

  // --- application ----------------------------------------------------------------------------
  bool writable() const { return !fin_written_ && !was_reset(); }
  void write(SendChunk chunk, bool fin);
  // Makes the first `bytes` arrive even if the stream is reset, when `reset` permits it.
  void keep_reliable(std::uint64_t bytes) {
    if (!was_reset()) reset_.reliable_size = bytes;
  }
  // Resets the stream (RFC 9000 §3.1). Returns false when there is nothing left to abandon.
  bool reset(std::uint64_t error, bool permit_reliable);
  // Returns the number of bytes that are to arrive at the peer and were never sent.
  std::uint64_t unsent_bytes() const {
    const std::uint64_t end = was_reset() ? reset_.reliable_size : buffer_.end();
    return end > limit_.used() ? end - limit_.used() : 0;
  }
  const SendBuffer& buffer() const { return buffer_; }

  // --- bytes that another node has --------------------------------------------------------------
  struct Elsewhere {
    // The index of the node that has all remote bytes; 0 as long as there are none.
    std::uint8_t sender = 0;
    // Only bytes that are here can be sent.
    bool withheld = false;
  };
  Elsewhere& elsewhere() { return elsewhere_; }
  const Elsewhere& elsewhere() const { return elsewhere_; }
  // The other node has further bytes.
  void append_remote(std::uint64_t bytes, bool fin);
  // Notes up to `bytes` as sent by the other node, as far as the stream's limit permits it. Takes
  // none before bytes that are here and were not sent, or behind the end. Returns how many.
  std::uint64_t permit_remote(std::uint64_t bytes);
  // Puts bytes at the place of remote ones, or behind the end.
  void replace(std::uint64_t offset, SendChunk chunk, bool fin);

  // --- packets --------------------------------------------------------------------------------
  Sendability sendability() const;
  // Returns lost data first (RFC 9000 §13.3), then new data within the stream's own limit. All of
  // it is remote, or all is here.
  Segment next_segment() const {
    if (elsewhere_.sender != 0) return next_part();
    return lost_.empty() ? new_segment() : lost_segment();
  }
  // Returns the first part of [offset, offset + length) that the peer may lack.
  std::optional<Segment> first_unacknowledged(std::uint64_t offset, std::uint64_t length) const;
  // Returns whether a frame that ends at this offset ends the stream.
  bool ends_at(std::uint64_t offset) const { return fin_written_ && offset == buffer_.end(); }
  void copy(std::uint64_t offset, std::size_t length, Writer& writer) {
    buffer_.copy(offset, length, writer);
  }
  void on_sent(const Segment& sent);
  // Returns true when the peer now has more of the stream without a gap, or all of it with its end.
  bool on_acknowledged(std::uint64_t offset, std::uint64_t length, bool fin);
  void on_lost(std::uint64_t offset, std::uint64_t length, bool fin);
  void on_reset_acknowledged();
  // Called when 0-RTT was rejected: the peer has seen nothing.
  void restart();

  // The fields of RESET_STREAM or RESET_STREAM_AT.
  struct Reset {
    std::uint64_t error = 0;
    std::uint64_t reliable_size = 0;
    std::uint64_t acknowledged = 0;  // all below this offset, at the reset; not in the frame
  };
  const Reset& reset_fields() const { return reset_; }
  std::uint64_t final_size() const { return limit_.used(); }
  bool reset_acknowledged() const { return reset_acknowledged_; }

 private:
  // Returns true when everything that is to arrive has arrived.
  bool settle();
  void end_written();
  Segment lost_segment() const { return {lost_.front().start, lost_.front().size()}; }
  Segment new_segment() const {
    const std::uint64_t length = std::min(unsent_bytes(), limit_.available());
    return {limit_.used(), length, length > 0};
  }
  // Cuts a segment where remote bytes and those that are here meet.
  Segment cut(Segment segment) const;
  Segment next_part() const;
  // Returns the first part that is here; nothing when there is none.
  std::optional<Segment> next_here() const;

  SendBuffer buffer_;
  IntervalSet lost_;  // sent, lost and not acknowledged
  SendLimit limit_;   // `used` is the offset of the first byte never sent
  Reset reset_;
  State state_ = State::kSend;
  Elsewhere elsewhere_;
  bool fin_written_ = false;
  bool fin_due_ = false;  // not sent yet, or lost
  bool fin_acknowledged_ = false;
  bool reset_acknowledged_ = false;
};

}  // namespace sheaf::quic
