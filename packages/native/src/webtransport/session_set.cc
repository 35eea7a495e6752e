#include "webtransport/session_set.h"

#include <algorithm>
#include <charconv>

#include "http3/frame_type.h"
#include "webtransport/error_code.h"

namespace sheaf::webtransport {
namespace {

using http3::value_of;

bool asks_for_webtransport(const http3::FieldSection& fields) {
  return fields.find(":method") == "CONNECT" && fields.find(":protocol") == "webtransport";
}

unsigned status_of(const http3::FieldSection& fields) {
  const std::string_view text = fields.find(":status");
  unsigned status = 0;
  std::from_chars(text.data(), text.data() + text.size(), status);
  return status;
}

void append(http3::FieldSection& to, const http3::FieldSection& from) {
  for (std::size_t i = 0; i < from.size(); ++i) to.add(from[i]);
}

}  // namespace

bool SessionSet::on_event(http3::SessionEvent& event, quic::Time now) {
  return std::visit([this, now](auto& value) { return handle(value, now); }, event);
}

std::optional<Event> SessionSet::poll_event() {
  if (events_.empty()) return std::nullopt;
  std::optional<Event> event = std::move(events_.front());
  events_.pop_front();
  return event;
}

Session* SessionSet::find(StreamId session) {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? nullptr : &found->second;
}

// --- sessions -----------------------------------------------------------------------------------

quic::Result<StreamId, http3::Refusal> SessionSet::connect(const http3::FieldSection& fields) {
  const auto& settings = http_.peer_settings();
  if (!settings) return http3::Refusal::kNotReady;
  if (!settings->webtransport) return http3::Refusal::kNotSupported;
  http3::FieldSection request = {
      {":method", "CONNECT"}, {":protocol", "webtransport"}, {":scheme", "https"}};
  append(request, fields);
  request.add({"sec-webtransport-http3-draft02", "1"});
  const auto stream = http_.submit_request(request, true);
  if (stream) sessions_.try_emplace(*stream, Session::State::kRequested);
  return stream;
}

quic::Status<http3::Refusal> SessionSet::accept(StreamId id, const http3::FieldSection& fields,
                                                quic::Time now) {
  Session* session = find(id);
  if (!session || session->state() != Session::State::kRequested) {
    return http3::Refusal::kUnknownStream;
  }
  http3::FieldSection response = {{":status", "200"}, {"sec-webtransport-http3-draft", "draft02"}};
  append(response, fields);
  if (auto status = http_.submit_response(id, response, true); !status) return status;
  session->establish();
  release_waiting(id);
  read_capsules(id, *session, now);
  return {};
}

quic::Status<http3::Refusal> SessionSet::reject(StreamId id, unsigned status) {
  Session* session = find(id);
  if (!session || session->state() != Session::State::kRequested) {
    return http3::Refusal::kUnknownStream;
  }
  const std::string text = std::to_string(status);
  if (auto result = http_.submit_response(id, {{":status", text}}, false); !result) return result;
  session->close();
  http_.stop_reading(id, value_of(http3::ErrorCode::kNoError));
  release_waiting(id);
  return {};
}

void SessionSet::drain(StreamId id) {
  Session* session = find(id);
  if (!session || session->state() != Session::State::kEstablished) return;
  static_cast<void>(http_.write_body(id, quic::SendChunk::copy_of(encode_drain()), false));
}

void SessionSet::close(StreamId id, const CloseInfo& info) {
  Session* session = find(id);
  if (!session || session->state() == Session::State::kClosed) return;
  if (session->state() == Session::State::kRequested) {
    http_.reset(id, value_of(http3::ErrorCode::kRequestCancelled));
  } else {
    const CloseInfo cut{info.code, info.reason.substr(0, k_max_close_reason)};
    static_cast<void>(http_.write_body(id, quic::SendChunk::copy_of(encode_close(cut)), true));
  }
  end(id, *session, {id, info.code, info.reason, true});
}

void SessionSet::end(StreamId id, Session& session, const SessionClosed& event) {
  if (session.state() == Session::State::kClosed) return;
  session.close();
  // draft-ietf-webtrans-http3-02 §5: all its streams end with it.
  for (const StreamId stream : session.streams()) {
    http_.transport().reset_stream(stream, k_session_gone);
    http_.transport().stop_sending(stream, k_session_gone);
  }
  release_waiting(id);
  events_.push_back(event);
}

bool SessionSet::handle(http3::RequestReceived& event, quic::Time) {
  if (!asks_for_webtransport(event.fields)) {
    release_waiting(event.stream);
    return false;
  }
  sessions_.try_emplace(event.stream, Session::State::kRequested);
  events_.push_back(SessionRequested{event.stream, std::move(event.fields)});
  return true;
}

bool SessionSet::handle(http3::ResponseReceived& event, quic::Time) {
  Session* session = find(event.stream);
  if (!session) return false;
  if (event.informational || session->state() != Session::State::kRequested) return true;
  const unsigned status = status_of(event.fields);
  if (status < 200 || status > 299) {
    session->close();
    http_.reset(event.stream, value_of(http3::ErrorCode::kRequestCancelled));
    events_.push_back(SessionRefused{event.stream, status});
  } else {
    session->establish();
    events_.push_back(SessionEstablished{event.stream, std::move(event.fields)});
  }
  release_waiting(event.stream);
  return true;
}

bool SessionSet::handle(http3::BodyReadable& event, quic::Time now) {
  Session* session = find(event.stream);
  if (session) read_capsules(event.stream, *session, now);
  return session != nullptr;
}

void SessionSet::read_capsules(StreamId id, Session& session, quic::Time now) {
  // Before it is accepted a session has nothing to say; its bytes wait in the transport.
  if (session.state() == Session::State::kRequested) return;
  while (true) {
    const Bytes body = http_.peek_body(id);
    if (body.empty()) return;
    Bytes rest = body;
    const auto signal = session.read(rest);
    http_.consume_body(id, body.size() - rest.size(), now);
    if (!signal) {
      http_.reset(id, value_of(signal.error().code));
      return end(id, session, {id, 0, {}, false});
    }
    if (!*signal) continue;
    if (session.state() == Session::State::kClosed) continue;
    if ((*signal)->draining) events_.push_back(SessionDraining{id});
    if (const auto& closed = (*signal)->closed) {
      static_cast<void>(http_.write_body(id, {}, true));
      end(id, session, {id, closed->code, closed->reason, true});
    }
  }
}

bool SessionSet::handle(http3::MessageFinished& event, quic::Time) {
  Session* session = find(event.stream);
  if (!session) return false;
  if (session->state() == Session::State::kClosed) return true;
  if (!session->at_boundary()) {
    http_.reset(event.stream, value_of(http3::ErrorCode::kMessageError));
    end(event.stream, *session, {event.stream, 0, {}, false});
  } else {
    // draft-ietf-webtrans-http3-02 §5: an end without the capsule means code 0 and no reason.
    if (session->state() == Session::State::kRequested) {
      http_.reset(event.stream, value_of(http3::ErrorCode::kRequestCancelled));
    } else {
      static_cast<void>(http_.write_body(event.stream, {}, true));
    }
    end(event.stream, *session, {event.stream, 0, {}, true});
  }
  return true;
}

bool SessionSet::handle(http3::StreamReset& event, quic::Time) {
  Session* session = find(event.stream);
  if (!session) return false;
  http_.reset(event.stream, value_of(http3::ErrorCode::kNoError));
  if (http_.transport().role() == quic::Role::kClient &&
      session->state() == Session::State::kRequested) {
    session->close();
    events_.push_back(SessionRefused{event.stream, 0});
    release_waiting(event.stream);
  } else {
    end(event.stream, *session, {event.stream, 0, {}, false});
  }
  return true;
}

bool SessionSet::handle(http3::WritingStopped& event, quic::Time) {
  // Nothing can be said any more on a CONNECT stream that the peer does not read. Before the answer
  // it announces a refusal, after a close it only means that the peer was quicker.
  Session* session = find(event.stream);
  if (!session) return false;
  if (session->state() == Session::State::kEstablished) {
    http_.reset(event.stream, value_of(http3::ErrorCode::kNoError));
    end(event.stream, *session, {event.stream, 0, {}, false});
  }
  return true;
}

bool SessionSet::handle(http3::StreamClosed& event, quic::Time) {
  const bool ours = sessions_.erase(event.stream) > 0;
  release_waiting(event.stream);
  return ours;
}

// --- streams ------------------------------------------------------------------------------------

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
  static_cast<void>(
      http_.transport().write(*stream, quic::SendChunk::copy_of(writer.written()), false));
  return stream;
}

quic::Result<bool, quic::StreamRefusal> SessionSet::write(StreamId stream, quic::SendChunk chunk,
                                                          bool fin) {
  if (!streams_.contains(stream)) return quic::StreamRefusal::kUnknownStream;
  return http_.transport().write(stream, std::move(chunk), fin);
}

quic::Result<quic::ReadResult, quic::StreamRefusal> SessionSet::consume(StreamId id,
                                                                        std::size_t bytes,
                                                                        quic::Time now) {
  const auto stream = streams_.find(id);
  if (stream == streams_.end()) return quic::StreamRefusal::kUnknownStream;
  if (stream->second.finished) return quic::ReadResult{0, true, std::nullopt};
  return http_.transport().consume(id, bytes, now);
}

void SessionSet::reset_stream(StreamId stream, std::uint32_t error) {
  if (streams_.contains(stream)) {
    http_.transport().reset_stream(stream, to_http_error(error));
  }
}

void SessionSet::stop_sending(StreamId stream, std::uint32_t error) {
  if (streams_.contains(stream)) {
    http_.transport().stop_sending(stream, to_http_error(error));
  }
}

void SessionSet::set_priority(StreamId stream, const quic::StreamPriority& priority) {
  if (streams_.contains(stream)) http_.transport().set_priority(stream, priority);
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
  events_.push_back(StreamOpened{id, waiting.stream});
  // What came together with the prefix gives no event of its own.
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
  std::deque<http3::HttpDatagram> datagrams;
  std::swap(datagrams, waiting_datagrams_);
  for (auto& datagram : datagrams) {
    if (datagram.stream != id) {
      waiting_datagrams_.push_back(std::move(datagram));
    } else if (open) {
      events_.push_back(DatagramReceived{id, std::move(datagram)});
    }
  }
}

void SessionSet::refuse(StreamId stream, std::uint64_t error) {
  http_.transport().stop_sending(stream, error);
  if (stream.directionality() == quic::Directionality::kBidirectional) {
    http_.transport().reset_stream(stream, error);
  }
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
    case Kind::kAcknowledged:
      events_.push_back(StreamAcknowledged{
          event.stream, event.value - std::min(event.value, found->second.prefix)});
      break;
    case Kind::kClosed: {
      if (Session* session = find(found->second.session)) session->streams().erase(event.stream);
      streams_.erase(found);
      events_.push_back(StreamClosed{event.stream});
      break;
    }
    case Kind::kOpened:
    case Kind::kStreamsAvailable:
      break;
  }
  return true;
}

// --- datagrams ----------------------------------------------------------------------------------

bool SessionSet::send_datagram(StreamId id, Bytes payload, std::uint64_t identifier) {
  const Session* session = find(id);
  return session && session->state() == Session::State::kEstablished &&
         http_.send_datagram(id, payload, identifier);
}

bool SessionSet::handle(http3::DatagramsReadable&, quic::Time now) {
  while (auto datagram = http_.receive_datagram(now)) {
    const StreamId id = datagram->stream;
    const Session* session = find(id);
    if (session && session->state() == Session::State::kEstablished) {
      events_.push_back(DatagramReceived{id, std::move(*datagram)});
    } else if (may_come(id) && waiting_datagrams_.size() < config_.max_waiting_datagrams) {
      waiting_datagrams_.push_back(std::move(*datagram));
    }
  }
  return true;
}

}  // namespace sheaf::webtransport
