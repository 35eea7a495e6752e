#include "stream/outgoing_frames.h"

#include <algorithm>

#include "recovery/write_frame.h"
#include "stream/stream_parts.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {

// --- control frames --------------------------------------------------------------------------

bool OutgoingFrames::has_control_to_send() const {
  return parts_.limits.control_due() || !parts_.lanes.any_path().control_queue.empty();
}

void OutgoingFrames::write_control(Writer& writer, SentPackets& sent) {
  if (!parts_.limits.write_control(writer, sent)) return;
  write_lane_control(parts_.lanes.any_path(), writer, sent);
}

void OutgoingFrames::write_lane_control(StreamLane& lane, Writer& writer, SentPackets& sent) {
  while (Stream* stream = lane.control_queue.front()) {
    if (!write_stream_control(*stream, writer, sent)) return;
    lane.control_queue.remove(*stream);
  }
}

bool OutgoingFrames::write_stream_control(Stream& stream, Writer& writer, SentPackets& sent) {
  using Kind = SentFrame::Kind;
  const auto write = [&](Stream::ControlBit bit, const Frame& frame, Kind kind,
                         std::uint64_t limit) {
    if (!(stream.control_due & bit)) return true;
    const SentFrame record = SentFrame::for_stream(kind, stream.id, limit);
    if (!write_frame(writer, sent, frame, record)) return false;
    stream.control_due &= static_cast<std::uint8_t>(~bit);
    return true;
  };
  if (stream.control_due & Stream::k_max_stream_data) stream.receive.announce_window();
  const std::uint64_t max_data = stream.receive.window().limit();
  const std::uint64_t send_limit = stream.send.limit().limit();
  const ResetStreamFrame reset{.stream = stream.id,
                               .error = stream.send.reset_fields().error,
                               .final_size = stream.send.final_size(),
                               .reliable_size = stream.send.reset_fields().reliable_size};
  return write(Stream::k_reset_stream, reset, Kind::kResetStream, 0) &&
         write(Stream::k_stop_sending, StopSendingFrame{stream.id, stream.stop_sending_error},
               Kind::kStopSending, 0) &&
         write(Stream::k_max_stream_data, MaxStreamDataFrame{stream.id, max_data},
               Kind::kMaxStreamData, max_data) &&
         write(Stream::k_stream_data_blocked, StreamDataBlockedFrame{stream.id, send_limit},
               Kind::kStreamDataBlocked, send_limit);
}

// --- STREAM frames ---------------------------------------------------------------------------

bool OutgoingFrames::has_data_to_send() const {
  return parts_.lanes.has_data(parts_.lanes.any_path());
}

std::uint64_t OutgoingFrames::unsent_bytes() const { return parts_.lanes.any_path().unsent; }

bool OutgoingFrames::open_ended() const { return parts_.lanes.any_path().open_ended > 0; }

std::uint64_t OutgoingFrames::connection_credit() const { return parts_.limits.send.available(); }

bool OutgoingFrames::has_pinned_to_send(PathId path) const {
  const StreamLane* lane = parts_.lanes.pinned_to(path);
  return lane && (!lane->control_queue.empty() || parts_.lanes.has_data(*lane));
}

std::size_t OutgoingFrames::write_data(Writer& writer, SentPackets& sent,
                                       const SendOpportunity& opportunity) {
  return write_lane_data(parts_.lanes.any_path(), writer, sent, opportunity);
}

std::size_t OutgoingFrames::write_pinned(Writer& writer, SentPackets& sent,
                                         const SendOpportunity& opportunity) {
  StreamLane* lane = parts_.lanes.pinned_to(opportunity.path);
  if (!lane) return 0;
  write_lane_control(*lane, writer, sent);
  return write_lane_data(*lane, writer, sent, opportunity);
}

std::size_t OutgoingFrames::write_lane_data(StreamLane& lane, Writer& writer, SentPackets& sent,
                                            const SendOpportunity& opportunity) {
  const SendLimit& credit = parts_.limits.send;
  std::size_t written = 0;
  while (parts_.lanes.has_data(lane)) {
    Stream* const next = next_to_send(lane, opportunity);
    if (!next) break;
    Stream& stream = *next;
    if (stream.sendability == SendStream::Sendability::kNewData && credit.available() == 0) {
      parts_.lanes.place(stream);
      continue;
    }
    SendStream::Segment segment = stream.send.next_segment();
    if (segment.remote || !write_stream_frame(stream, segment, writer, sent)) break;
    written += segment.length;
    lane.on_sent(stream, segment.length, opportunity);
    parts_.lanes.refresh(stream);
  }
  if (credit.available() == 0) parts_.lanes.note_connection_blocked();
  return written;
}

inline Stream* OutgoingFrames::chosen_of(StreamLane& lane, const SendOpportunity& opportunity) {
  const std::optional<StreamId> chosen = lane.scheduler->next(opportunity);
  return chosen ? parts_.open.find(*chosen) : nullptr;
}

Stream* OutgoingFrames::next_to_send(StreamLane& lane, const SendOpportunity& opportunity) {
  if (Stream* first = lane.ahead.front()) return first;
  Stream* const stream = chosen_of(lane, opportunity);
  const bool has_turn = !stream || stream->turns_taken == 0;
  return has_turn ? stream : next_with_turn(*stream, lane, opportunity);
}

// Stands apart: only streams of other nodes take turns in advance.
[[gnu::noinline]] Stream* OutgoingFrames::next_with_turn(Stream& first, StreamLane& lane,
                                                         const SendOpportunity& opportunity) {
  Stream* stream = &first;
  while (stream && stream->turns_taken > 0) {
    --stream->turns_taken;
    lane.on_sent(*stream, 0, opportunity);
    stream = chosen_of(lane, opportunity);
  }
  return stream;
}

std::optional<RemoteTurn> OutgoingFrames::peek_remote(const SendOpportunity& opportunity) {
  const SendLimit& credit = parts_.limits.send;
  StreamLane& lane = parts_.lanes.any_path();
  while (parts_.lanes.has_data(lane)) {
    Stream* const next = next_to_send(lane, opportunity);
    if (!next || next->send.elsewhere().sender == 0) break;
    if (next->sendability == SendStream::Sendability::kNewData && credit.available() == 0) {
      parts_.lanes.place(*next);
      continue;
    }
    SendStream::Segment segment = next->send.next_segment();
    if (!segment.remote) break;
    if (segment.is_new) segment.length = std::min(segment.length, credit.available());
    return RemoteTurn{.stream = next,
                      .id = next->id,
                      .sender = next->send.elsewhere().sender,
                      .segment = segment,
                      .ends = next->send.ends_at(segment.offset + segment.length)};
  }
  return std::nullopt;
}

void OutgoingFrames::take_remote(const RemoteTurn& turn, std::uint64_t bytes) {
  Stream& stream = *turn.stream;
  SendStream::Segment taken = turn.segment;
  taken.length = bytes;
  on_numbered(stream, taken);
  parts_.lanes.refresh(stream);
  if (parts_.limits.send.available() == 0) parts_.lanes.note_connection_blocked();
}

void OutgoingFrames::end_turn(StreamId id, std::size_t packets,
                              const SendOpportunity& opportunity) {
  Stream* const stream = parts_.open.find(id);
  if (stream == nullptr || stream->sendability == SendStream::Sendability::kNothing) return;
  // Schedulers take turns by packets.
  stream->turns_taken = packets - 1;
  stream->lane->on_sent(*stream, 0, opportunity);
}

bool OutgoingFrames::write_stream_frame(Stream& stream, SendStream::Segment& segment,
                                        Writer& writer, SentPackets& sent) {
  if (segment.is_new) {
    segment.length = std::min(segment.length, parts_.limits.send.available());
  }
  if (!write_segment(stream, segment, writer, sent)) return false;
  on_numbered(stream, segment);
  if (stream.write_refused && parts_.room.has_room(stream)) parts_.room.wake(stream);
  return true;
}

void OutgoingFrames::on_numbered(Stream& stream, const SendStream::Segment& segment) {
  if (segment.is_new) {
    parts_.limits.send.consume(segment.length);
    stream.lane->use.sent += segment.length;
  }
  stream.send.on_sent(segment);
  const bool reset_follows =
      segment.is_new && stream.send.was_reset() && stream.send.unsent_bytes() == 0;
  if (reset_follows) parts_.lanes.request_control(stream, Stream::k_reset_stream);
}

// Writes as much of the segment as fits into a frame, and shortens the segment to that. Returns
// false when nothing fits.
bool OutgoingFrames::write_segment(Stream& stream, SendStream::Segment& segment, Writer& writer,
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
  sent.add_frame(SentFrame::for_data(stream.id, segment.offset,
                                     static_cast<std::uint32_t>(segment.length), header.fin));
  return true;
}

// --- frames that were sent -------------------------------------------------------------------

bool OutgoingFrames::write_copy(SentFrame& rest, Writer& writer, SentPackets& sent) {
  Stream* stream = parts_.open.find(rest.stream());
  if (!stream || !stream->sends || stream->send.was_reset()) return true;
  if (stream->send.elsewhere().sender != 0) return true;  // its bytes may be remote
  while (auto segment = stream->send.first_unacknowledged(rest.offset(), rest.length())) {
    if (!write_segment(*stream, *segment, writer, sent)) return false;
    rest.remove_before(segment->offset + segment->length);
  }
  return true;
}

void OutgoingFrames::on_acknowledged(const SentFrame& frame) {
  using Kind = SentFrame::Kind;
  if (frame.kind() != Kind::kStream && frame.kind() != Kind::kResetStream &&
      frame.kind() != Kind::kStopSending) {
    return;
  }
  Stream* stream = parts_.open.find(frame.stream());
  if (stream == nullptr) return;
  if (frame.kind() == Kind::kResetStream) {
    stream->send.on_reset_acknowledged();
  } else if (frame.kind() == Kind::kStopSending) {
    stream->receive.on_stop_sending_acknowledged();
  } else {
    parts_.room.on_change();
    // Data that was declared lost may have arrived after all.
    const bool news = stream->send.on_acknowledged(frame.offset(), frame.length(), frame.fin());
    // Nobody waits for the acknowledgement of remote bytes.
    if (news && stream->send.elsewhere().sender == 0) {
      parts_.events.push(*stream, StreamEvent::Kind::kAcknowledged);
    }
    parts_.lanes.refresh(*stream);
    if (!news || !stream->send.terminal()) return;
  }
  parts_.open.close_if_finished(*stream);
}

void OutgoingFrames::on_lost(const SentFrame& frame) {
  if (parts_.limits.on_lost(frame, parts_.lanes.wants_credit())) return;
  if (Stream* stream = parts_.open.find(frame.stream())) on_stream_frame_lost(*stream, frame);
}

void OutgoingFrames::on_stream_frame_lost(Stream& stream, const SentFrame& frame) {
  using Kind = SentFrame::Kind;
  if (frame.kind() == Kind::kStream) {
    stream.send.on_lost(frame.offset(), frame.length(), frame.fin());
    parts_.lanes.refresh(stream);
  } else if (frame.kind() == Kind::kResetStream) {
    if (!stream.send.reset_acknowledged())
      parts_.lanes.request_control(stream, Stream::k_reset_stream);
  } else if (frame.kind() == Kind::kStopSending) {
    if (stream.receive.stop_sending_needed())
      parts_.lanes.request_control(stream, Stream::k_stop_sending);
  } else if (frame.kind() == Kind::kMaxStreamData) {
    if (frame.limit() == stream.receive.window().limit() &&
        stream.receive.state() == ReceiveStream::State::kReceive && !stream.receive.abandoned()) {
      parts_.lanes.request_control(stream, Stream::k_max_stream_data);
    }
  } else if (frame.kind() == Kind::kStreamDataBlocked) {
    const SendLimit& limit = stream.send.limit();
    if (frame.limit() == limit.limit() && limit.available() == 0 &&
        stream.send.unsent_bytes() > 0) {
      parts_.lanes.request_control(stream, Stream::k_stream_data_blocked);
    }
  }
}

}  // namespace sheaf::quic
