// The frames that a StreamSet receives.

#include "stream/stream_set_state.h"
#include "wire/violation.h"

namespace sheaf::quic {

Result<Stream*, TransportError> StreamSet::State::find_or_open(StreamId id, FrameType type) {
  if (id.initiator() == role) {
    // RFC 9000 §19.4 to §19.13: for a stream that we have yet to open.
    if (id.index() >= local_limit(id).used()) {
      return violation(TransportErrorCode::kStreamStateError, type, "stream is not open yet");
    }
    Stream* stream = streams.find(id);
    if (shared_streams && stream != nullptr && !at_arrival(*stream)) {
      return violation(TransportErrorCode::kStreamStateError, type, "stream of another server");
    }
    return stream;
  }
  if (shared_streams) return open_alone(id, type);
  PeerStreamLimit& limit = peer_limit(id);
  if (id.index() < limit.opened()) return streams.find(id);
  if (!limit.allows(id.index())) {
    return violation(TransportErrorCode::kStreamLimitError, type, "stream limit exceeded");
  }
  // RFC 9000 §3.2: all streams of the kind below it open first.
  while (limit.opened() <= id.index()) {
    Stream& stream = create(StreamId::make(id.initiator(), id.directionality(), limit.opened()));
    limit.on_opened();
    events.push(stream, StreamEvent::Kind::kOpened);
  }
  if (limit.extension_due()) control_due |= max_streams_bit(id.directionality());
  return streams.find(id);
}

// docs/internals/multi-end.md: the streams between are at other servers, so that each opens alone.
// Which ones were open is remembered in so many intervals; when there are more, the oldest gap
// counts as used.
Result<Stream*, TransportError> StreamSet::State::open_alone(StreamId id, FrameType type) {
  constexpr std::size_t k_max_intervals = 1024;
  IntervalSet& opened = peer_opened[index_of(id.directionality())];
  Stream* known = streams.find(id);
  if (known != nullptr && !at_arrival(*known)) {
    return violation(TransportErrorCode::kStreamStateError, type, "stream of another server");
  }
  if (known != nullptr || opened.contains(id.index())) return known;
  PeerStreamLimit& limit = peer_limit(id);
  // A backend does not hear of the limit, which moves as streams close anywhere: not more are open
  // here than anywhere could be.
  const bool allowed = !limit.full() && (leased || limit.allows(id.index()));
  if (!allowed) {
    return violation(TransportErrorCode::kStreamLimitError, type, "stream limit exceeded");
  }
  opened.insert(id.index());
  if (opened.size() > k_max_intervals) opened.insert(opened[0].end, opened[1].start);
  Stream& stream = create(id);
  limit.on_opened();
  events.push(stream, StreamEvent::Kind::kOpened);
  if (limit.extension_due()) control_due |= max_streams_bit(id.directionality());
  return &stream;
}

bool StreamSet::State::at_arrival(const Stream& stream) const {
  return stream.lane->apart ? stream.lane->path == arrival : !arrival;
}

Result<Stream*, TransportError> StreamSet::State::find_receiving(StreamId id, FrameType type) {
  Stream* stream = streams.find(id);
  if (stream != nullptr && stream->receives && !shared_streams) return stream;
  if (id.directionality() == Directionality::kUnidirectional && id.initiator() == role) {
    return violation(TransportErrorCode::kStreamStateError, type, "stream is send-only");
  }
  return find_or_open(id, type);
}

Result<Stream*, TransportError> StreamSet::State::find_sending(StreamId id, FrameType type) {
  if (id.directionality() == Directionality::kUnidirectional && id.initiator() != role) {
    return violation(TransportErrorCode::kStreamStateError, type, "stream is receive-only");
  }
  return find_or_open(id, type);
}

TransportStatus StreamSet::on_stream(const StreamFrame& frame, Time now) {
  State& state = *state_;
  state.now = now;
  const auto found = state.find_receiving(frame.stream, FrameType::kStream);
  if (!found) return found.error();
  if (*found == nullptr) return {};
  Stream& stream = **found;
  const std::uint64_t counted = state.connection_receive.received();
  const auto news = stream.receive.on_stream(frame, state.receive_context());
  stream.lane->use.received += state.connection_receive.received() - counted;
  if (!news) return news.error();
  if (*news) state.events.push(stream, StreamEvent::Kind::kReadable);
  state.widen_over_gap(stream);
  if (frame.fin) state.cancel_control(stream, Stream::k_max_stream_data);
  if (stream.receive.abandoned()) {
    state.announce_connection_window();
    state.close_if_finished(stream);
  }
  return {};
}

TransportStatus StreamSet::on_reset_stream(const ResetStreamFrame& frame) {
  State& state = *state_;
  const auto found = state.find_receiving(frame.stream, type_of(frame));
  if (!found) return found.error();
  if (*found == nullptr) return {};
  Stream& stream = **found;
  const std::uint64_t counted = state.connection_receive.received();
  const auto news = stream.receive.on_reset(frame, state.receive_context());
  stream.lane->use.received += state.connection_receive.received() - counted;
  if (!news) return news.error();
  state.cancel_control(stream, Stream::k_max_stream_data);  // the final size is known
  if (*news) state.tell_reset(stream);
  return {};
}

TransportStatus StreamSet::on_stop_sending(const StopSendingFrame& frame) {
  State& state = *state_;
  const auto found = state.find_sending(frame.stream, FrameType::kStopSending);
  if (!found) return found.error();
  if (*found == nullptr) return {};
  // RFC 9000 §3.5: answered with RESET_STREAM and the same error, unless that is in flight.
  if (!(*found)->send.reset(frame.error, false)) return {};
  state.reset_sending(**found);
  state.events.push(**found, StreamEvent::Kind::kStopSending);
  return {};
}

TransportStatus StreamSet::on_max_data(const MaxDataFrame& frame) {
  State& state = *state_;
  if (state.leased) {
    state.told_max_data = std::max(state.told_max_data, frame.maximum);
    return {};
  }
  if (!state.connection_send.raise(frame.maximum)) return {};
  state.control_due &= static_cast<std::uint8_t>(~State::k_data_blocked);
  state.schedule_credit_waiters();
  return {};
}

TransportStatus StreamSet::on_max_stream_data(const MaxStreamDataFrame& frame) {
  const auto found = state_->find_sending(frame.stream, FrameType::kMaxStreamData);
  if (!found) return found.error();
  if (*found == nullptr) return {};
  state_->raise_stream(**found, frame.maximum);
  // Until now the stream's own limit was what stopped it.
  if (state_->connection_send.available() == 0) state_->note_connection_blocked();
  return {};
}

TransportStatus StreamSet::on_max_streams(const MaxStreamsFrame& frame) {
  State& state = *state_;
  // RFC 9000 §19.11 speaks of all streams, and a backend has a lease of some.
  if (state.leased) return {};
  const SendLimit& limit = state.local_streams[State::index_of(frame.directionality)];
  const bool some_wait = limit.used() > limit.limit();
  state.raise_local_streams(frame.directionality, frame.maximum);
  if (some_wait) state.refresh_all();
  return {};
}

// The *_BLOCKED frames only inform (RFC 9000 §19.12 to §19.14): credit is given back as the
// application reads, and lost announcements are repeated, so there is nothing to answer with.
// Except where several servers share the connection's credit, and some hold what others wait for.

TransportStatus StreamSet::on_data_blocked(const DataBlockedFrame& frame) {
  State& state = *state_;
  if (state.shared_streams && state.role == Role::kClient &&
      state.connection_receive.on_blocked_elsewhere(frame.limit)) {
    state.announce_connection_window();
  }
  return {};
}

TransportStatus StreamSet::on_stream_data_blocked(const StreamDataBlockedFrame& frame) {
  const auto found = state_->find_receiving(frame.stream, FrameType::kStreamDataBlocked);
  if (!found) return found.error();
  return {};
}

TransportStatus StreamSet::on_streams_blocked(const StreamsBlockedFrame&) { return {}; }

}  // namespace sheaf::quic
