#include "connection/frame_outcome.h"

namespace sheaf::quic {

PathEntry* FrameOutcome::entry_of(const SentFrame& frame) {
  return parts_.paths.find(frame.path());
}

void FrameOutcome::on_frame_acknowledged(PathId id, const SentFrame& frame) {
  using Kind = SentFrame::Kind;
  switch (frame.kind()) {
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
      parts_.streams.outgoing().on_acknowledged(frame);
      break;
    case Kind::kAck:
      parts_.paths.find(id)->path->received.on_ack_acknowledged(frame.largest_acknowledged());
      break;
    case Kind::kPathAck:
      if (PathEntry* entry = entry_of(frame); entry && entry->path)
        entry->path->received.on_ack_acknowledged(frame.largest_acknowledged());
      break;
    case Kind::kCrypto:
      parts_.crypto.on_acknowledged(frame);
      break;
    case Kind::kRetireConnectionId:
      if (PathEntry* entry = entry_of(frame))
        entry->remote_ids.on_retirement_acknowledged(frame.sequence());
      break;
    case Kind::kPathAbandon:
      if (PathEntry* entry = entry_of(frame); entry && entry->abandonment)
        entry->abandonment->frame_acknowledged = true;
      break;
    case Kind::kDatagram:
      parts_.events.push_back(DatagramAcknowledgedEvent{frame.identifier()});
      break;
    case Kind::kMtuProbe: {
      Path& path = *parts_.paths.find(id)->path;
      path.mtu.on_probe_acknowledged(frame.probe_size(), now_);
      path.controller->on_mtu_change(path.mtu.current());
      break;
    }
    case Kind::kAckFrequency:
      parts_.ack_requests.on_acknowledged(frame.sequence());
      break;
    case Kind::kPing:
    case Kind::kTunnelReport:
    case Kind::kImmediateAck:
    case Kind::kNewToken:
    case Kind::kNewConnectionId:
    case Kind::kPathChallenge:
    case Kind::kPathResponse:
    case Kind::kHandshakeDone:
    case Kind::kPathStatus:
    case Kind::kMaxPathId:
    case Kind::kPathsBlocked:
    case Kind::kPathCidsBlocked:
    case Kind::kBackendOffer:
    case Kind::kBackendWithdraw:
      break;
  }
}

void FrameOutcome::on_frame_lost(PathId id, const SentFrame& frame) {
  using Kind = SentFrame::Kind;
  switch (frame.kind()) {
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
      parts_.streams.outgoing().on_lost(frame);
      break;
    case Kind::kCrypto:
      parts_.crypto.on_lost(frame);
      break;
    case Kind::kNewToken:
      parts_.handshake_frames.on_token_lost();
      break;
    case Kind::kNewConnectionId:
      if (PathEntry* entry = entry_of(frame)) entry->local_ids.on_lost(frame.sequence());
      break;
    case Kind::kRetireConnectionId:
      if (PathEntry* entry = entry_of(frame))
        entry->remote_ids.on_retirement_lost(frame.sequence());
      break;
    case Kind::kPathAbandon:
      if (PathEntry* entry = entry_of(frame);
          entry && entry->abandonment && !entry->abandonment->frame_acknowledged) {
        entry->abandonment->frame_due = true;
      }
      break;
    case Kind::kPathStatus:
      // RFC 10069 §4.3: repeats only the newest.
      if (PathEntry* entry = entry_of(frame);
          entry && entry->own_preference.sequence == frame.sequence()) {
        entry->own_preference.frame_due = true;
      }
      break;
    case Kind::kBackendOffer:
    case Kind::kBackendWithdraw:
      parts_.policy->on_frame_lost(frame);
      break;
    case Kind::kAckFrequency:
      parts_.ack_requests.on_lost(frame.sequence());
      break;
    case Kind::kMaxPathId:
      parts_.paths.ids().on_maximum_lost(frame.limit());
      break;
    case Kind::kHandshakeDone:
      parts_.handshake_frames.on_done_lost();
      break;
    case Kind::kDatagram:
      parts_.events.push_back(DatagramLostEvent{frame.identifier()});
      break;
    case Kind::kMtuProbe:
      parts_.paths.find(id)->path->mtu.on_probe_lost(frame.probe_size(), now_);
      break;
    // Acknowledgements are renewed, challenges have their own timer, responses are not repeated
    // (RFC 9000 §13.3), a blocked side says so again when it matters (RFC 10069 §4.7), and
    // newer reports follow.
    case Kind::kAck:
    case Kind::kPathAck:
    case Kind::kPathsBlocked:
    case Kind::kPathCidsBlocked:
    case Kind::kPing:
    case Kind::kTunnelReport:
    case Kind::kImmediateAck:
    case Kind::kPathChallenge:
    case Kind::kPathResponse:
      break;
  }
}

}  // namespace sheaf::quic
