#include <algorithm>

#include "http3/frame_type.h"
#include "webtransport/error_code.h"
#include "webtransport/session_set.h"

// Streams and datagrams of the sessions.

namespace sheaf::webtransport {

namespace {

// Nobody says which stream of a session matters more, until the application does: none waits for
// the end of another.
constexpr quic::StreamPriority k_in_turn{.incremental = true};

}  // namespace

quic::Result<StreamId, quic::StreamRefusal> SessionSet::open_stream(
    StreamId id, quic::Directionality direction) {
  Session* session = find(id);
  if (!session || session->state() != Session::State::kEstablished) {
    return quic::StreamRefusal::kUnknownStream;
  }
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
  // Draft-ietf-webtrans-http3-15 §4.4: the peer learns whose stream it was.
  http_.transport().keep_reliable(*stream, writer.size());
  return stream;
}

const SessionSet::Stream* SessionSet::usable(StreamId id) const {
  const auto stream = streams_.find(id);
  if (stream == streams_.end()) return nullptr;
  const auto session = sessions_.find(stream->second.session);
  const bool open =
      session != sessions_.end() && session->second.state() == Session::State::kEstablished;
  return open ? &stream->second : nullptr;
}

quic::Result<bool, quic::StreamRefusal> SessionSet::write(StreamId stream, quic::SendChunk chunk,
                                                          bool fin) {
  if (!usable(stream)) return quic::StreamRefusal::kUnknownStream;
  return http_.transport().write(stream, std::move(chunk), fin);
}

quic::Result<quic::ReadResult, quic::StreamRefusal> SessionSet::consume(StreamId id,
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

void SessionSet::reset_stream(StreamId stream, std::uint32_t error) {
  if (usable(stream)) {
    http_.transport().reset_stream(stream, to_http_error(error));
  }
}

void SessionSet::stop_sending(StreamId stream, std::uint32_t error) {
  if (usable(stream)) {
    http_.transport().stop_sending(stream, to_http_error(error));
  }
}

// The session's CONNECT request may still be on its way: streams and datagrams overtake it.
bool SessionSet::may_come(StreamId session) const {
  const auto found = sessions_.find(session);
  if (found != sessions_.end()) return found->second.state() == Session::State::kRequested;
  return http_.request_open_or_to_come(session);
}

bool SessionSet::handle(http3::WebTransportStreamOpened& event, quic::Time) {
  const WaitingStream opened{event.stream, event.session, event.finished};
  const Session* session = find(event.session);
  if (session && session->state() == Session::State::kEstablished) {
    add_stream(event.session, opened);
  } else if (may_come(event.session)) {
    if (waiting_streams_.size() < config_.max_waiting_streams) {
      waiting_streams_.push_back(opened);
    } else {
      refuse(event.stream, k_buffered_stream_rejected);
    }
  } else {
    refuse(event.stream, k_session_gone);
  }
  return true;
}

void SessionSet::add_stream(StreamId id, const WaitingStream& waiting) {
  find(id)->streams().insert(waiting.stream);
  streams_[waiting.stream] = {id, 0, waiting.finished};
  http_.transport().set_priority(waiting.stream, k_in_turn);
  events_.push_back(StreamOpened{id, waiting.stream});
  // Bytes that came together with the prefix give no event of their own.
  events_.push_back(StreamReadable{waiting.stream});
}

// The session's fate is known: what waited for it goes on, or is refused.
void SessionSet::release_waiting(StreamId id) {
  const Session* session = find(id);
  const bool open = session && session->state() == Session::State::kEstablished;
  std::vector<WaitingStream> waiting;
  std::swap(waiting, waiting_streams_);
  for (const WaitingStream& stream : waiting) {
    if (stream.session != id) {
      waiting_streams_.push_back(stream);
    } else if (open) {
      add_stream(id, stream);
    } else {
      refuse(stream.stream, k_session_gone);
    }
  }
}

void SessionSet::refuse(StreamId stream, std::uint64_t error) {
  http_.transport().stop_sending(stream, error);
  if (stream.directionality() == quic::Directionality::kBidirectional) {
    http_.transport().reset_stream(stream, error);
  }
}

void SessionSet::forget(StreamId stream) {
  const auto found = streams_.find(stream);
  if (Session* session = find(found->second.session)) session->streams().erase(stream);
  streams_.erase(found);
  events_.push_back(StreamClosed{stream});
}

// It still waits for its session, or was refused.
void SessionSet::on_waiting_stream_event(const quic::StreamEvent& event, quic::Time now) {
  using Kind = quic::StreamEvent::Kind;
  if (event.kind == Kind::kStopSending) {
    http_.transport().reset_stream(event.stream, event.value);  // RFC 9000 §3.5
  } else if (event.kind == Kind::kReset || event.kind == Kind::kClosed) {
    std::erase_if(waiting_streams_,
                  [&](const WaitingStream& waiting) { return waiting.stream == event.stream; });
    static_cast<void>(http_.transport().consume(event.stream, 0, now));
    refuse(event.stream, k_session_gone);
  }
}

bool SessionSet::handle(http3::HandedOverStreamEvent& handed, quic::Time now) {
  using Kind = quic::StreamEvent::Kind;
  const quic::StreamEvent& event = handed.event;
  const auto found = streams_.find(event.stream);
  if (found == streams_.end()) {
    on_waiting_stream_event(event, now);
    return true;
  }
  // Nobody asks any more what happens on the streams of a closed session, only when they go.
  if (!usable(event.stream) && event.kind != Kind::kClosed) {
    on_waiting_stream_event(event, now);
    return true;
  }
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
      // An end that came with the prefix is still to be shown, as long as somebody looks.
      if (!found->second.finished || !find(found->second.session)) forget(event.stream);
      break;
    case Kind::kOpened:
    case Kind::kStreamsAvailable:
      break;
  }
  return true;
}

// --- datagrams ----------------------------------------------------------------------------------

std::size_t SessionSet::max_datagram_payload(StreamId session) const {
  return http_.peer_lacks_datagrams() ? http3::k_max_capsule_datagram
                                      : http_.max_datagram_payload(session);
}

bool SessionSet::send_datagram_capsule(StreamId id, Session& session, Bytes payload) {
  if (!session.may_send_capsules || payload.size() > http3::k_max_capsule_datagram) return false;
  const auto capsule = http3::encode_capsule({http3::k_capsule_datagram, payload});
  const auto room = http_.write_body(id, quic::SendChunk::copy_of(capsule), false);
  session.may_send_capsules = room && *room;
  return static_cast<bool>(room);
}

// The session's id serves as the datagram's identifier: counting needs no more.
bool SessionSet::send_datagram(StreamId id, Bytes payload, bool waits) {
  Session* session = find(id);
  if (!session || session->state() != Session::State::kEstablished) return false;
  const bool taken = http_.peer_lacks_datagrams() ? send_datagram_capsule(id, *session, payload)
                                                  : http_.send_datagram(id, payload, id.value);
  if (taken) ++session->datagrams().sent;
  if (!taken && !waits) ++session->datagrams().expired;
  return taken;
}

std::optional<DatagramCounts> SessionSet::datagram_counts(StreamId id) const {
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) return std::nullopt;
  return session->second.datagrams();
}

bool SessionSet::handle(http3::DatagramOutcome& event, quic::Time) {
  Session* session = find({event.identifier});
  if (!session) return false;
  ++(event.acknowledged ? session->datagrams().acknowledged : session->datagrams().lost);
  return true;
}

void SessionSet::on_datagram(http3::HttpDatagram datagram) {
  const Session* session = find(datagram.stream);
  if (!session || session->state() != Session::State::kEstablished) return;
  datagrams_.on_datagram(datagram);
}

bool SessionSet::handle(http3::BodyWritable& event, quic::Time) {
  Session* session = find(event.stream);
  if (!session) return false;
  if (!std::exchange(session->may_send_capsules, true)) events_.push_back(DatagramsWritable{});
  return true;
}

bool SessionSet::handle(http3::DatagramsWritable&, quic::Time) {
  events_.push_back(DatagramsWritable{});
  return true;
}

}  // namespace sheaf::webtransport
