#include "connection/frame_outcome.h"

namespace sheaf::quic {

void FrameOutcome::on_frame_acknowledged(PathId, const SentFrame& frame) {
  using Kind = SentFrame::Kind;
  switch (frame.kind) {
    case Kind::kStream:
    case Kind::kResetStream:
    case Kind::kStopSending:
    case Kind::kMaxData:
    case Kind::kMaxStreamData:
    case Kind::kMaxStreamsBidi:
    case Kind::kMaxStreamsUni:
    case Kind::kDataBlocked:
    case Kind::kStreamDataBlocked:
    case Kind::kStreamsBlockedBidi:
    case Kind::kStreamsBlockedUni:
      parts_.streams.on_acknowledged(frame);
      break;
    case Kind::kAck:
      parts_.path->received.on_ack_acknowledged(frame.offset);
      break;
    case Kind::kCrypto:
      parts_.crypto.on_acknowledged(frame);
      break;
    case Kind::kRetireConnectionId:
      parts_.remote_ids.on_retirement_acknowledged(frame.offset);
      break;
    case Kind::kDatagram:
      parts_.events.push_back(DatagramAcknowledgedEvent{frame.offset});
      break;
    case Kind::kMtuProbe:
      parts_.path->mtu.on_probe_acknowledged(static_cast<std::uint16_t>(frame.length), now_);
      parts_.path->controller->on_mtu_change(parts_.path->mtu.current());
      break;
    case Kind::kPing:
    case Kind::kNewToken:
    case Kind::kNewConnectionId:
    case Kind::kPathChallenge:
    case Kind::kPathResponse:
    case Kind::kHandshakeDone:
      break;
  }
}

void FrameOutcome::on_frame_lost(PathId, const SentFrame& frame) {
  using Kind = SentFrame::Kind;
  switch (frame.kind) {
    case Kind::kStream:
    case Kind::kResetStream:
    case Kind::kStopSending:
    case Kind::kMaxData:
    case Kind::kMaxStreamData:
    case Kind::kMaxStreamsBidi:
    case Kind::kMaxStreamsUni:
    case Kind::kDataBlocked:
    case Kind::kStreamDataBlocked:
    case Kind::kStreamsBlockedBidi:
    case Kind::kStreamsBlockedUni:
      parts_.streams.on_lost(frame);
      break;
    case Kind::kCrypto:
      parts_.crypto.on_lost(frame);
      break;
    case Kind::kNewToken:
      parts_.new_token_due = true;
      break;
    case Kind::kNewConnectionId:
      parts_.local_ids.on_lost(frame.offset);
      break;
    case Kind::kRetireConnectionId:
      parts_.remote_ids.on_retirement_lost(frame.offset);
      break;
    case Kind::kHandshakeDone:
      parts_.handshake_done_due = true;
      break;
    case Kind::kDatagram:
      parts_.events.push_back(DatagramLostEvent{frame.offset});
      break;
    case Kind::kMtuProbe:
      parts_.path->mtu.on_probe_lost(static_cast<std::uint16_t>(frame.length), now_);
      break;
    // Acknowledgements are renewed, challenges have their own timer, responses are not repeated
    // (RFC 9000 §13.3).
    case Kind::kAck:
    case Kind::kPing:
    case Kind::kPathChallenge:
    case Kind::kPathResponse:
      break;
  }
}

}  // namespace sheaf::quic
