// The frames that a StreamSet sends, and what becomes of them.

#include <algorithm>

#include "recovery/write_frame.h"
#include "stream/stream_set_state.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {

// --- control frames -----------------------------------------------------------------------------

bool StreamSet::has_control_to_send() const {
  return state_->connection_control_due() != 0 || !state_->shared.control_queue.empty();
}

void StreamSet::write_control(Writer& writer, SentPackets& sent) {
  State& state = *state_;
  // What the connection's limits are is told by the primary alone.
  state.control_due = state.connection_control_due();
  if (state.control_due != 0 && !state.write_connection_control(writer, sent)) return;
  state.write_control(state.shared, writer, sent);
}

void StreamSet::State::write_control(StreamLane& lane, Writer& writer, SentPackets& sent) {
  while (Stream* stream = lane.control_queue.front()) {
    if (!write_stream_control(*stream, writer, sent)) return;
    lane.control_queue.remove(*stream);
  }
}

bool StreamSet::State::write_connection_control(Writer& writer, SentPackets& sent) {
  using Kind = SentFrame::Kind;
  constexpr auto bidirectional = Directionality::kBidirectional;
  constexpr auto unidirectional = Directionality::kUnidirectional;
  const auto write = [&](ControlBit bit, const Frame& frame, Kind kind, std::uint64_t value) {
    if (!(control_due & bit)) return true;
    if (!write_frame(writer, sent, frame, {.offset = value, .kind = kind})) return false;
    control_due &= static_cast<std::uint8_t>(~bit);
    return true;
  };
  if (control_due & k_max_data) announced_max_data = connection_receive.announce();
  if (control_due & k_max_streams_bidi) peer_streams[0].announce();
  if (control_due & k_max_streams_uni) peer_streams[1].announce();
  const std::uint64_t max_data = connection_receive.limit();
  const std::uint64_t max_bidi = peer_streams[0].limit();
  const std::uint64_t max_uni = peer_streams[1].limit();
  const std::uint64_t data_limit = connection_send.limit();
  const std::uint64_t bidi_limit = local_streams[0].limit();
  const std::uint64_t uni_limit = local_streams[1].limit();
  return write(k_max_data, MaxDataFrame{max_data}, Kind::kMaxData, max_data) &&
         write(k_max_streams_bidi, MaxStreamsFrame{bidirectional, max_bidi}, Kind::kMaxStreamsBidi,
               max_bidi) &&
         write(k_max_streams_uni, MaxStreamsFrame{unidirectional, max_uni}, Kind::kMaxStreamsUni,
               max_uni) &&
         write(k_data_blocked, DataBlockedFrame{data_limit}, Kind::kDataBlocked, data_limit) &&
         write(k_streams_blocked_bidi, StreamsBlockedFrame{bidirectional, bidi_limit},
               Kind::kStreamsBlockedBidi, bidi_limit) &&
         write(k_streams_blocked_uni, StreamsBlockedFrame{unidirectional, uni_limit},
               Kind::kStreamsBlockedUni, uni_limit);
}

bool StreamSet::State::write_stream_control(Stream& stream, Writer& writer, SentPackets& sent) {
  using Kind = SentFrame::Kind;
  const auto write = [&](Stream::ControlBit bit, const Frame& frame, Kind kind,
                         std::uint64_t value) {
    if (!(stream.control_due & bit)) return true;
    const SentFrame record{.stream = stream.id.value, .offset = value, .kind = kind};
    if (!write_frame(writer, sent, frame, record)) return false;
    stream.control_due &= static_cast<std::uint8_t>(~bit);
    return true;
  };
  if (stream.control_due & Stream::k_max_stream_data) stream.receive.announce_window();
  const std::uint64_t max_data = stream.receive.window().limit();
  const std::uint64_t send_limit = stream.send.limit().limit();
  const ResetStreamFrame reset{.stream = stream.id,
                               .error = stream.send.reset_error(),
                               .final_size = stream.send.final_size(),
                               .reliable_size = stream.send.reliable_size()};
  return write(Stream::k_reset_stream, reset, Kind::kResetStream, 0) &&
         write(Stream::k_stop_sending, StopSendingFrame{stream.id, stream.stop_sending_error},
               Kind::kStopSending, 0) &&
         write(Stream::k_max_stream_data, MaxStreamDataFrame{stream.id, max_data},
               Kind::kMaxStreamData, max_data) &&
         write(Stream::k_stream_data_blocked, StreamDataBlockedFrame{stream.id, send_limit},
               Kind::kStreamDataBlocked, send_limit);
}

// --- STREAM frames ------------------------------------------------------------------------------

bool StreamSet::State::has_data_to_send(const StreamLane& lane) const {
  return lane.senders(Sendability::kNowPossible) > 0 ||
         (lane.senders(Sendability::kNewData) > 0 && connection_send.available() > 0);
}

std::uint64_t StreamSet::unsent_bytes() const { return state_->shared.unsent; }
bool StreamSet::needs_connection_credit() const {
  return state_->shared.senders(SendStream::Sendability::kNewData) > 0;
}
bool StreamSet::open_ended() const { return state_->shared.open_ended > 0; }
std::uint64_t StreamSet::connection_credit() const { return state_->connection_send.available(); }

bool StreamSet::has_data_to_send() const { return state_->has_data_to_send(state_->shared); }

bool StreamSet::has_pinned_to_send(PathId path) const {
  const StreamLane* lane = state_->pinned_lane(path);
  return lane && (!lane->control_queue.empty() || state_->has_data_to_send(*lane));
}

std::size_t StreamSet::write_data(Writer& writer, SentPackets& sent,
                                  const SendOpportunity& opportunity) {
  return state_->write_data(state_->shared, writer, sent, opportunity);
}

std::size_t StreamSet::write_pinned(Writer& writer, SentPackets& sent,
                                    const SendOpportunity& opportunity) {
  StreamLane* lane = state_->pinned_lane(opportunity.path);
  if (!lane) return 0;
  state_->write_control(*lane, writer, sent);
  return state_->write_data(*lane, writer, sent, opportunity);
}

std::size_t StreamSet::State::write_data(StreamLane& lane, Writer& writer, SentPackets& sent,
                                         const SendOpportunity& opportunity) {
  std::size_t written = 0;
  while (has_data_to_send(lane)) {
    const std::optional<StreamId> next = lane.next(opportunity);
    if (!next) break;
    Stream& stream = *streams.find(*next);
    if (stream.sendability == Sendability::kNewData && connection_send.available() == 0) {
      place(stream);
      continue;
    }
    const std::optional<std::size_t> bytes = write_stream_frame(stream, writer, sent);
    if (!bytes) break;
    written += *bytes;
    lane.on_sent(stream, *bytes, opportunity);
    refresh_sending(stream);
  }
  if (connection_send.available() == 0) note_connection_blocked();
  return written;
}

std::optional<std::size_t> StreamSet::State::write_stream_frame(Stream& stream, Writer& writer,
                                                                SentPackets& sent) {
  SendStream::Segment segment = stream.send.next_segment();
  if (segment.is_new) segment.length = std::min(segment.length, connection_send.available());
  if (!write_segment(stream, segment, writer, sent)) return std::nullopt;
  if (segment.is_new) {
    connection_send.consume(segment.length);
    stream.lane->use.sent += segment.length;
  }
  stream.send.on_sent(segment);
  const bool reset_follows =
      segment.is_new && stream.send.was_reset() && stream.send.unsent_bytes() == 0;
  if (reset_follows) request_control(stream, Stream::k_reset_stream);
  if (stream.write_refused && has_room(stream)) wake(stream);
  return segment.length;
}

bool StreamSet::write_copy(SentFrame& rest, Writer& writer, SentPackets& sent) {
  Stream* stream = state_->streams.find(StreamId{rest.stream});
  if (!stream || !stream->sends || stream->send.was_reset()) return true;
  while (auto segment = stream->send.first_unacknowledged(rest.offset, rest.length)) {
    if (!state_->write_segment(*stream, *segment, writer, sent)) return false;
    const std::uint64_t end = segment->offset + segment->length;
    rest.length -= static_cast<std::uint32_t>(end - rest.offset);
    rest.offset = end;
  }
  return true;
}

// Puts as much of the segment into a frame as fits, and shortens it to that; false when nothing
// fits.
bool StreamSet::State::write_segment(Stream& stream, SendStream::Segment& segment, Writer& writer,
                                     SentPackets& sent) {
  StreamFrameHeader header{.stream = stream.id,
                           .offset = segment.offset,
                           .length = 0,
                           .fin = false,
                           .has_length = false};
  const std::size_t fixed = encoded_size(header);
  if (writer.remaining() < fixed + (segment.length > 0 ? 1 : 0)) return false;
  const std::size_t room = writer.remaining() - fixed;
  if (segment.length >= room) {
    segment.length = room;
  } else {
    header.has_length = true;
    segment.length = std::min<std::uint64_t>(segment.length, room - varint_size(segment.length));
  }
  header.length = segment.length;
  header.fin = stream.send.ends_at(segment.offset + segment.length);
  encode(writer, header);
  stream.send.copy(segment.offset, segment.length, writer);
  sent.add_frame({.stream = stream.id.value,
                  .offset = segment.offset,
                  .length = static_cast<std::uint32_t>(segment.length),
                  .kind = SentFrame::Kind::kStream,
                  .fin = header.fin});
  return true;
}

// --- what became of them ------------------------------------------------------------------------

void StreamSet::on_acknowledged(const SentFrame& frame) {
  using Kind = SentFrame::Kind;
  if (frame.kind != Kind::kStream && frame.kind != Kind::kResetStream &&
      frame.kind != Kind::kStopSending) {
    return;
  }
  State& state = *state_;
  Stream* stream = state.streams.find({frame.stream});
  if (stream == nullptr) return;
  if (frame.kind == Kind::kResetStream) {
    stream->send.on_reset_acknowledged();
  } else if (frame.kind == Kind::kStopSending) {
    stream->receive.on_stop_sending_acknowledged();
  } else {
    state.room_to_look_for = true;
    if (!stream->send.on_acknowledged(frame.offset, frame.length, frame.fin)) {
      // Data that was thought lost may have arrived all the same.
      state.refresh_sending(*stream);
      return;
    }
    state.events.push(*stream, StreamEvent::Kind::kAcknowledged);
    state.refresh_sending(*stream);
    if (!stream->send.terminal()) return;
  }
  state.close_if_finished(*stream);
}

void StreamSet::on_lost(const SentFrame& frame) {
  using Kind = SentFrame::Kind;
  State& state = *state_;
  // Limits are sent again only when no newer value has been sent (RFC 9000 §13.3).
  const auto repeat = [&](bool still_true, std::uint8_t bit) {
    if (still_true) state.control_due |= bit;
  };
  const auto blocked = [&](const SendLimit& limit) {
    return frame.offset == limit.limit() && limit.available() == 0;
  };
  switch (frame.kind) {
    case Kind::kMaxData:
      return repeat(frame.offset == state.connection_receive.limit(), State::k_max_data);
    case Kind::kMaxStreamsBidi:
      return repeat(frame.offset == state.peer_streams[0].limit(), State::k_max_streams_bidi);
    case Kind::kMaxStreamsUni:
      return repeat(frame.offset == state.peer_streams[1].limit(), State::k_max_streams_uni);
    case Kind::kDataBlocked:
      return repeat(blocked(state.connection_send) && state.wants_credit(), State::k_data_blocked);
    case Kind::kStreamsBlockedBidi:
      return repeat(blocked(state.local_streams[0]), State::k_streams_blocked_bidi);
    case Kind::kStreamsBlockedUni:
      return repeat(blocked(state.local_streams[1]), State::k_streams_blocked_uni);
    default:
      if (Stream* stream = state.streams.find({frame.stream})) state.on_lost(*stream, frame);
  }
}

void StreamSet::State::on_lost(Stream& stream, const SentFrame& frame) {
  using Kind = SentFrame::Kind;
  if (frame.kind == Kind::kStream) {
    stream.send.on_lost(frame.offset, frame.length, frame.fin);
    refresh_sending(stream);
  } else if (frame.kind == Kind::kResetStream) {
    if (!stream.send.reset_acknowledged()) request_control(stream, Stream::k_reset_stream);
  } else if (frame.kind == Kind::kStopSending) {
    if (stream.receive.stop_sending_needed()) request_control(stream, Stream::k_stop_sending);
  } else if (frame.kind == Kind::kMaxStreamData) {
    if (frame.offset == stream.receive.window().limit() &&
        stream.receive.state() == ReceiveStream::State::kReceive && !stream.receive.abandoned()) {
      request_control(stream, Stream::k_max_stream_data);
    }
  } else if (frame.kind == Kind::kStreamDataBlocked) {
    const SendLimit& limit = stream.send.limit();
    if (frame.offset == limit.limit() && limit.available() == 0 && stream.send.unsent_bytes() > 0) {
      request_control(stream, Stream::k_stream_data_blocked);
    }
  }
}

}  // namespace sheaf::quic
