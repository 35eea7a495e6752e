#include "webtransport/session_streams.h"

#include <algorithm>

#include "http3/frame_type.h"
#include "webtransport/error_code.h"

namespace sheaf::webtransport {

namespace {

// Streams of a session take turns until the application sets priorities, so that none waits for the
// end of another.
constexpr quic::StreamPriority k_in_turn{.incremental = true};

}  // namespace

quic::Result<StreamId, quic::StreamRefusal> SessionStreams::open(StreamId id,
                                                                 quic::Directionality direction) {
  Session* session = sessions_.find_established(id);
  if (!session) return quic::StreamRefusal::kUnknownStream;
  const auto stream = http_.transport().open_stream(direction);
  if (!stream) return stream;
  std::array<std::uint8_t, 16> prefix;
  quic::Writer writer(prefix);
  writer.write_varint(direction == quic::Directionality::kBidirectional
                          ? http3::k_frame_webtransport_stream
                          : http3::k_stream_webtransport);
  writer.write_varint(id.value);
  http_.hand_over(*stream);
  session->streams().insert(*stream);
  streams_[*stream] = {id, writer.size()};
  http_.transport().set_priority(*stream, k_in_turn);
  static_cast<void>(
      http_.transport().write(*stream, quic::SendChunk::copy_of(writer.written()), false));
  // draft-ietf-webtrans-http3-15 §4.4: the prefix tells the peer which session the stream belonged
  // to.
  http_.transport().keep_reliable(*stream, writer.size());
  return stream;
}

bool SessionStreams::usable(StreamId id) {
  const auto stream = streams_.find(id);
  return stream != streams_.end() && sessions_.find_established(stream->second.session);
}

quic::Result<bool, quic::StreamRefusal> SessionStreams::write(StreamId stream,
                                                              quic::SendChunk chunk, bool fin) {
  if (!usable(stream)) return quic::StreamRefusal::kUnknownStream;
  return http_.transport().write(stream, std::move(chunk), fin);
}

quic::Result<quic::ReadResult, quic::StreamRefusal> SessionStreams::consume(StreamId id,
                                                                            std::size_t bytes,
                                                                            quic::Time now) {
  const auto stream = streams_.find(id);
  if (stream == streams_.end()) return quic::StreamRefusal::kUnknownStream;
  if (std::exchange(stream->second.finished, false)) {
    if (stream->second.closed) forget(id);
    return quic::ReadResult{0, true, std::nullopt};
  }
  return http_.transport().consume(id, bytes, now);
}

void SessionStreams::reset(StreamId stream, std::uint32_t error) {
  if (usable(stream)) http_.transport().reset_stream(stream, to_http_error(error));
}

void SessionStreams::stop_sending(StreamId stream, std::uint32_t error) {
  if (usable(stream)) http_.transport().stop_sending(stream, to_http_error(error));
}

bool SessionStreams::may_come(StreamId id) const {
  if (const Session* session = sessions_.find(id)) {
    return session->state() == Session::State::kRequested;
  }
  return http_.request_open_or_to_come(id);
}

void SessionStreams::on_opened(const http3::WebTransportStreamOpened& opened) {
  if (Session* session = sessions_.find_established(opened.session)) {
    add(*session, opened);
  } else if (!may_come(opened.session)) {
    refuse(opened.stream, k_session_gone);
  } else if (waiting_.size() < max_waiting_) {
    waiting_.push_back(opened);
  } else {
    refuse(opened.stream, k_buffered_stream_rejected);
  }
}

void SessionStreams::add(Session& session, const http3::WebTransportStreamOpened& opened) {
  session.streams().insert(opened.stream);
  streams_[opened.stream] = {opened.session, 0, opened.finished};
  http_.transport().set_priority(opened.stream, k_in_turn);
  events_.push_back(StreamOpened{opened.session, opened.stream});
  // Bytes that came together with the prefix cause no event of the transport.
  events_.push_back(StreamReadable{opened.stream});
}

void SessionStreams::release_waiting(StreamId id) {
  Session* session = sessions_.find_established(id);
  for (const http3::WebTransportStreamOpened& opened : std::exchange(waiting_, {})) {
    if (opened.session != id) {
      waiting_.push_back(opened);
    } else if (session) {
      add(*session, opened);
    } else {
      refuse(opened.stream, k_session_gone);
    }
  }
}

// draft-ietf-webtrans-http3-02 §5: all streams of a session end with it.
void SessionStreams::reset_all(Session& session) {
  const std::vector<StreamId> streams(session.streams().begin(), session.streams().end());
  for (const StreamId id : streams) {
    http_.transport().reset_stream(id, k_session_gone);
    http_.transport().stop_sending(id, k_session_gone);
    const auto stream = streams_.find(id);
    if (stream != streams_.end() && stream->second.closed) forget(id);
  }
}

void SessionStreams::refuse(StreamId stream, std::uint64_t error) {
  http_.transport().stop_sending(stream, error);
  if (stream.directionality() == quic::Directionality::kBidirectional) {
    http_.transport().reset_stream(stream, error);
  }
}

void SessionStreams::forget(StreamId stream) {
  const auto found = streams_.find(stream);
  if (Session* session = sessions_.find(found->second.session)) session->streams().erase(stream);
  streams_.erase(found);
  events_.push_back(StreamClosed{stream});
}

void SessionStreams::on_unused(const quic::StreamEvent& event, quic::Time now) {
  using Kind = quic::StreamEvent::Kind;
  if (event.kind == Kind::kStopSending) {
    http_.transport().reset_stream(event.stream, event.value);  // RFC 9000 §3.5
  } else if (event.kind == Kind::kReset || event.kind == Kind::kClosed) {
    std::erase_if(waiting_, [&](const auto& waiting) { return waiting.stream == event.stream; });
    static_cast<void>(http_.transport().consume(event.stream, 0, now));
    refuse(event.stream, k_session_gone);
  }
}

void SessionStreams::on_event(const quic::StreamEvent& event, quic::Time now) {
  using Kind = quic::StreamEvent::Kind;
  const auto found = streams_.find(event.stream);
  if (found == streams_.end()) return on_unused(event, now);
  // On the streams of a closed session, only the end still matters.
  if (!usable(event.stream) && event.kind != Kind::kClosed) return on_unused(event, now);
  switch (event.kind) {
    case Kind::kReadable:
      events_.push_back(StreamReadable{event.stream});
      break;
    case Kind::kWritable:
      events_.push_back(StreamWritable{event.stream});
      break;
    case Kind::kStopSending:
      http_.transport().reset_stream(event.stream, event.value);  // RFC 9000 §3.5
      events_.push_back(StreamStopped{event.stream, to_application_error(event.value)});
      break;
    case Kind::kReset:
      static_cast<void>(http_.transport().consume(event.stream, 0, now));
      events_.push_back(StreamReset{event.stream, to_application_error(event.value)});
      break;
    case Kind::kLost:
      http_.transport().stop_sending(event.stream, quic::k_backend_lost);  // the rest is not read
      events_.push_back(StreamReset{event.stream, to_application_error(quic::k_backend_lost)});
      break;
    case Kind::kAcknowledged:
      events_.push_back(StreamAcknowledged{
          event.stream, event.value - std::min(event.value, found->second.prefix)});
      break;
    case Kind::kClosed:
      found->second.closed = true;
      // An end that came with the prefix has yet to be shown while the session exists.
      if (!found->second.finished || !sessions_.find(found->second.session)) forget(event.stream);
      break;
    case Kind::kOpened:
    case Kind::kStreamsAvailable:
      break;
  }
}

}  // namespace sheaf::webtransport
