#include "stream/receive_stream.h"

#include <algorithm>

#include "wire/violation.h"

namespace sheaf::quic {

void ReceiveStream::open(BlockPool& pool, const ReceiveWindow& window) {
  reassembler_.open(pool);
  window_ = window;
  final_size_ = k_unknown;
  credited_ = 0;
  reset_error_.reset();
  reliable_size_ = k_unknown;
  reset_read_ = end_read_ = abandoned_ = stop_sending_unsettled_ = false;
}

ReceiveStream::State ReceiveStream::state() const {
  if (reset_due()) return reset_read_ ? State::kResetRead : State::kResetReceived;
  if (end_read_) return State::kDataRead;
  if (all_received()) return State::kDataReceived;
  return final_size_ == k_unknown ? State::kReceive : State::kSizeKnown;
}

bool ReceiveStream::finished() const {
  if (!abandoned_) return end_read_ || reset_read_;
  // The rest of the data does not matter, but the connection credit that it uses does.
  return reset_error_ || (final_size_ != k_unknown && !stop_sending_unsettled_);
}

TransportStatus ReceiveStream::check_size(std::uint64_t end, bool final, FrameType type) const {
  // RFC 9000 §4.5: the final size may not change.
  if (final_size_ != k_unknown && (end > final_size_ || (final && end != final_size_))) {
    return violation(TransportErrorCode::kFinalSizeError, type, "final size changed");
  }
  if (final && end < window_.received()) {
    return violation(TransportErrorCode::kFinalSizeError, type, "final size below received data");
  }
  return {};
}

TransportStatus ReceiveStream::count(std::uint64_t end, FrameType type,
                                     const ReceiveContext& context) {
  if (end <= window_.received()) return {};
  const std::uint64_t more = end - window_.received();
  // RFC 9000 §4.1: data beyond a limit is an error.
  if (!window_.allows(more)) {
    return violation(TransportErrorCode::kFlowControlError, type, "stream limit exceeded");
  }
  if (!context.connection.allows(more)) {
    return violation(TransportErrorCode::kFlowControlError, type, "connection limit exceeded");
  }
  window_.receive(more, context.now);
  context.connection.receive(more, context.now);
  return {};
}

Result<bool, TransportError> ReceiveStream::on_stream(const StreamFrame& frame,
                                                      const ReceiveContext& context) {
  const std::uint64_t end = frame.offset + frame.data.size();
  if (TransportStatus status = check_size(end, frame.fin, FrameType::kStream); !status) {
    return status.error();
  }
  if (TransportStatus status = count(end, FrameType::kStream, context); !status) {
    return status.error();
  }
  const bool end_known = final_size_ != k_unknown;
  if (frame.fin) final_size_ = end;
  if (reset_due() || end_read_) return false;
  if (abandoned_) {
    discard(context);
    return false;
  }
  const std::uint64_t readable = reassembler_.contiguous_end();
  reassembler_.write(frame.offset, frame.data);
  return reassembler_.contiguous_end() > readable || (!end_known && all_received());
}

Result<bool, TransportError> ReceiveStream::on_reset(const ResetStreamFrame& frame,
                                                     const ReceiveContext& context) {
  const FrameType type = type_of(frame);
  if (TransportStatus status = check_size(frame.final_size, true, type); !status) {
    return status.error();
  }
  if (TransportStatus status = count(frame.final_size, type, context); !status) {
    return status.error();
  }
  // draft-ietf-quic-reliable-stream-reset-09 §5.2: all resets must have the same error. RFC 9000
  // does not say what two RESET_STREAM frames mean.
  const bool reliable = frame.reliable_size > 0 || (reset_error_ && reliable_size_ > 0);
  if (reliable && reset_error_.value_or(frame.error) != frame.error) {
    return violation(TransportErrorCode::kStreamStateError, type, "error code of a reset changed");
  }
  // RFC 9000 §3.2: a reset may be ignored when all data has been received.
  if (reset_due() || (!reset_error_ && all_received() && !abandoned_)) return false;
  final_size_ = frame.final_size;
  reset_error_ = frame.error;
  // A reset that arrives late may have a larger reliable size.
  reliable_size_ = std::min(reliable_size_, frame.reliable_size);
  if (reset_due()) discard(context);
  return reset_due();
}

bool ReceiveStream::readable() const {
  if (abandoned_) return false;
  if (reset_due()) return !reset_read_;
  return readable_bytes() > 0 || (all_received() && !end_read_);
}

bool ReceiveStream::consume(std::uint64_t bytes, const ReceiveContext& context) {
  reassembler_.consume(bytes);
  credited_ += bytes;
  context.connection.consume(bytes, context.now, context.rtt);
  const bool moved = window_.consume(bytes, context.now, context.rtt);
  if (reset_due()) discard(context);
  // RFC 9000 §3.2: no more credit is needed once the final size is known.
  return moved && final_size_ == k_unknown;
}

bool ReceiveStream::widen_over_gap(Time now) {
  return final_size_ == k_unknown && window_.wait(reassembler_.waiting_bytes(), now);
}

bool ReceiveStream::take_end() {
  if (reset_error_ || abandoned_ || reassembler_.read_offset() != final_size_) return false;
  end_read_ = true;
  return true;
}

bool ReceiveStream::abandon(const ReceiveContext& context) {
  if (abandoned_ || finished()) return false;
  abandoned_ = true;
  // RFC 9000 §3.5: STOP_SENDING is useful only while data is missing.
  stop_sending_unsettled_ = !reset_error_ && !all_received();
  discard(context);
  return stop_sending_unsettled_;
}

void ReceiveStream::discard(const ReceiveContext& context) {
  reassembler_.clear();
  const std::uint64_t bytes = window_.received() - credited_;
  credited_ += bytes;
  context.connection.consume(bytes, context.now, context.rtt);
}

}  // namespace sheaf::quic
