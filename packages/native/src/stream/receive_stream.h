#pragma once

#include <optional>

#include "flow_control/receive_window.h"
#include "stream/reassembler.h"
#include "wire/frame.h"

namespace sheaf::quic {

// The state that the streams of a connection share while they receive.
struct ReceiveContext {
  ReceiveWindow& connection;
  Time now;
  Duration rtt;
};

// Implements the receiving part of a stream (RFC 9000 §3.2) with its final size and flow control
// rules.
class ReceiveStream {
 public:
  enum class State : std::uint8_t {
    kReceive,
    kSizeKnown,
    kDataReceived,
    kDataRead,
    kResetReceived,
    kResetRead
  };

  void open(BlockPool& pool, const ReceiveWindow& window);

  State state() const;
  // Returns whether nothing more can happen that the application or the peer must know.
  bool finished() const;
  const ReceiveWindow& window() const { return window_; }
  void announce_window() { window_.announce(); }

  // --- frames from the peer; a result of true says that there is something new to read -----------
  Result<bool, TransportError> on_stream(const StreamFrame& frame, const ReceiveContext& context);
  // Returns true when the reset is to be reported: the application has read the data that it leaves
  // reliable.
  Result<bool, TransportError> on_reset(const ResetStreamFrame& frame,
                                        const ReceiveContext& context);

  // --- application ------------------------------------------------------------------------------
  bool readable() const;
  Bytes peek() const { return reassembler_.peek(); }
  std::size_t copy_to(MutableBytes out) const { return reassembler_.copy_to(out); }
  // Gives more credit when data that arrives waits for missing data. Returns true when
  // MAX_STREAM_DATA is due.
  bool widen_over_gap(Time now);
  // Consumes `bytes`, at most those readable. Returns true when MAX_STREAM_DATA is due.
  bool consume(std::uint64_t bytes, const ReceiveContext& context);
  // Returns whether no data is missing that the application waits for.
  bool complete() const {
    return all_received() || (reset_error_ && in_order_end() >= reliable_size_);
  }
  // Returns whether all data in order has been read and no more can come.
  bool nothing_left() const { return abandoned_ || (!complete() && readable_bytes() == 0); }
  std::uint64_t in_order_end() const { return reassembler_.contiguous_end(); }
  std::uint64_t readable_bytes() const {
    return reassembler_.contiguous_end() - reassembler_.read_offset();
  }
  // Returns whether everything up to the end has been read, and remembers that the application was
  // told.
  bool take_end();
  // Returns the error once the data that the reset leaves reliable has been read.
  std::optional<std::uint64_t> reset_error() const {
    return reset_due() ? reset_error_ : std::nullopt;
  }
  void on_reset_read() { reset_read_ = true; }

  // Stops reading (STOP_SENDING). Returns true when the peer must be told.
  bool abandon(const ReceiveContext& context);
  bool abandoned() const { return abandoned_; }
  // Returns whether a lost STOP_SENDING must be sent again: not when the peer has reset the stream.
  bool stop_sending_needed() const { return stop_sending_unsettled_ && !reset_error_; }
  void on_stop_sending_acknowledged() { stop_sending_unsettled_ = false; }

 private:
  static constexpr std::uint64_t k_unknown = UINT64_MAX;

  TransportStatus check_size(std::uint64_t end, bool final, FrameType type) const;
  TransportStatus count(std::uint64_t end, FrameType type, const ReceiveContext& context);
  bool reset_due() const {
    return reset_error_ && (abandoned_ || reassembler_.read_offset() >= reliable_size_);
  }
  bool all_received() const { return reassembler_.contiguous_end() == final_size_; }
  void discard(const ReceiveContext& context);

  Reassembler reassembler_;
  ReceiveWindow window_;  // `received` is the highest offset
  std::uint64_t final_size_ = k_unknown;
  std::uint64_t credited_ = 0;  // bytes whose connection credit was given back
  std::optional<std::uint64_t> reset_error_;
  std::uint64_t reliable_size_ = k_unknown;  // the smallest reliable size of the resets that
                                             // arrived
  bool reset_read_ = false;
  bool end_read_ = false;
  bool abandoned_ = false;
  bool stop_sending_unsettled_ = false;
};

}  // namespace sheaf::quic
