#include "connection/close_state.h"

#include <bit>

namespace sheaf::quic {

void CloseState::start_closing(const ConnectionClosed& closed, Time now, Duration linger) {
  if (phase_ != Phase::kOpen) return;
  phase_ = Phase::kClosing;
  closed_ = closed;
  deadline_ = now + linger;
  // An error of the peer is reported at once.
  last_words_due_ = closed.cause == ConnectionClosed::Cause::kLocalApplication;
  frame_due_ = true;
}

void CloseState::start_draining(const ConnectionClosed& closed, Time now, Duration linger) {
  if (phase_ == Phase::kDraining || phase_ == Phase::kClosed) return;
  // The application is told the cause that came first.
  if (phase_ == Phase::kOpen) closed_ = closed;
  phase_ = Phase::kDraining;
  deadline_ = now + linger;
  frame_due_ = false;
}

void CloseState::on_peer_closed(const ConnectionClosed& closed, PathId path, Time now,
                                Duration linger) {
  // Another CONNECTION_CLOSE of the same packet changes nothing.
  if (phase_ == Phase::kDraining || phase_ == Phase::kClosed) return;
  const bool answer = phase_ == Phase::kOpen;
  answer_path_ = path;
  start_draining(closed, now, linger);
  frame_due_ = answer;
}

void CloseState::finish(const ConnectionClosed& closed) {
  if (phase_ == Phase::kOpen) closed_ = closed;
  phase_ = Phase::kClosed;
  deadline_ = k_never;
  frame_due_ = false;
}

void CloseState::on_packet_received() {
  if (phase_ != Phase::kClosing) return;
  // RFC 9000 §10.2.1: answers ever fewer packets, here the 1st, 2nd, 4th, 8th …
  if (std::has_single_bit(++packets_received_)) frame_due_ = true;
}

ConnectionCloseFrame CloseState::frame() const {
  if (phase_ == Phase::kDraining) {
    return {.application = false, .error = 0, .frame_type = 0, .reason = {}};  // NO_ERROR
  }
  // A long reason is cut: the frame has to fit in any packet.
  constexpr std::size_t k_max_reason = 256;
  const auto* reason = reinterpret_cast<const std::uint8_t*>(closed_.reason.data());
  return {.application = closed_.cause == ConnectionClosed::Cause::kLocalApplication,
          .error = closed_.error,
          .frame_type = closed_.frame_type,
          .reason = {reason, std::min(closed_.reason.size(), k_max_reason)}};
}

void CloseState::on_timeout(Time now) {
  if (now >= deadline_) finish(closed_);
}

}  // namespace sheaf::quic
