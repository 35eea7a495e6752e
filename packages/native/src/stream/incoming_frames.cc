#include "stream/incoming_frames.h"

#include <algorithm>

#include "stream/stream_parts.h"

namespace sheaf::quic {

TransportStatus IncomingFrames::on_stream(const StreamFrame& frame, Time now) {
  ConnectionLimits& limits = parts_.limits;
  limits.now = now;
  const auto found = parts_.lookup.find_receiving(frame.stream, FrameType::kStream);
  if (!found) return found.error();
  if (*found == nullptr) return {};
  Stream& stream = **found;
  const std::uint64_t counted = limits.receive.received();
  const auto news = stream.receive.on_stream(frame, limits.receive_context());
  stream.lane->use.received += limits.receive.received() - counted;
  if (!news) return news.error();
  if (*news) parts_.events.push(stream, StreamEvent::Kind::kReadable);
  parts_.progress.widen_over_gap(stream);
  if (frame.fin) parts_.lanes.cancel_control(stream, Stream::k_max_stream_data);
  if (stream.receive.abandoned()) {
    limits.announce_receive_window();
    parts_.open.close_if_finished(stream);
  }
  return {};
}

TransportStatus IncomingFrames::on_reset_stream(const ResetStreamFrame& frame) {
  ConnectionLimits& limits = parts_.limits;
  const auto found = parts_.lookup.find_receiving(frame.stream, type_of(frame));
  if (!found) return found.error();
  if (*found == nullptr) return {};
  Stream& stream = **found;
  const std::uint64_t counted = limits.receive.received();
  const auto news = stream.receive.on_reset(frame, limits.receive_context());
  stream.lane->use.received += limits.receive.received() - counted;
  if (!news) return news.error();
  // the final size is known, so no more credit is needed
  parts_.lanes.cancel_control(stream, Stream::k_max_stream_data);
  if (*news) parts_.progress.tell_reset(stream);
  return {};
}

TransportStatus IncomingFrames::on_stop_sending(const StopSendingFrame& frame) {
  const auto found = parts_.lookup.find_sending(frame.stream, FrameType::kStopSending);
  if (!found) return found.error();
  if (*found == nullptr) return {};
  Stream& stream = **found;
  // RFC 9000 §3.5: RESET_STREAM with the same error is due, unless one is in flight.
  if (!stream.send.reset(frame.error, false)) return {};
  parts_.lanes.on_reset(stream);
  parts_.events.push(stream, StreamEvent::Kind::kStopSending);
  return {};
}

TransportStatus IncomingFrames::on_max_data(const MaxDataFrame& frame) {
  ConnectionLimits& limits = parts_.limits;
  if (limits.leased) {
    limits.told_max_data = std::max(limits.told_max_data, frame.maximum);
    return {};
  }
  if (limits.raise_credit(frame.maximum)) parts_.lanes.schedule_credit_waiters();
  return {};
}

TransportStatus IncomingFrames::on_max_stream_data(const MaxStreamDataFrame& frame) {
  const auto found = parts_.lookup.find_sending(frame.stream, FrameType::kMaxStreamData);
  if (!found) return found.error();
  if (*found == nullptr) return {};
  parts_.lanes.raise_limit(**found, frame.maximum);
  // Before this frame, only the limit of the stream stopped it.
  if (parts_.limits.send.available() == 0) parts_.lanes.note_connection_blocked();
  return {};
}

TransportStatus IncomingFrames::on_max_streams(const MaxStreamsFrame& frame) {
  ConnectionLimits& limits = parts_.limits;
  // RFC 9000 §19.11: MAX_STREAMS covers all streams, but a backend has a lease of some only.
  if (limits.leased) return {};
  const SendLimit& limit = limits.local_streams(frame.directionality);
  const bool some_wait = limit.used() > limit.limit();
  limits.raise_local_streams(frame.directionality, frame.maximum);
  if (some_wait) parts_.open.refresh_sending();
  return {};
}

// The *_BLOCKED frames are informative (RFC 9000 §19.12 to §19.14). Credit grows as the application
// reads, and lost announcements are repeated, so these frames need no response. The exception is a
// connection whose credit several servers share: one may hold credit that another waits for.

TransportStatus IncomingFrames::on_data_blocked(const DataBlockedFrame& frame) {
  ConnectionLimits& limits = parts_.limits;
  if (parts_.lookup.shared() && limits.role == Role::kClient &&
      limits.receive.on_blocked_elsewhere(frame.limit)) {
    limits.announce_receive_window();
  }
  return {};
}

TransportStatus IncomingFrames::on_stream_data_blocked(const StreamDataBlockedFrame& frame) {
  const auto found = parts_.lookup.find_receiving(frame.stream, FrameType::kStreamDataBlocked);
  if (!found) return found.error();
  return {};
}

TransportStatus IncomingFrames::on_streams_blocked(const StreamsBlockedFrame&) { return {}; }

}  // namespace sheaf::quic
