#include "webtransport/session_set.h"

#include <algorithm>
#include <charconv>

#include "util/utf8.h"
#include "webtransport/error_code.h"

namespace sheaf::webtransport {
namespace {

using http3::value_of;

constexpr std::string_view k_protocol = "webtransport";
constexpr std::string_view k_protocol_h3 = "webtransport-h3";  // draft-ietf-webtrans-http3-16 §9.1

// Returns nothing for any other request.
std::optional<Dialect> dialect_of(const http3::FieldSection& fields) {
  if (fields.find(":method") != "CONNECT") return std::nullopt;
  const std::string_view protocol = fields.find(":protocol");
  if (protocol == k_protocol) return Dialect::kWebTransport;
  if (protocol == k_protocol_h3) return Dialect::kWebTransportH3;
  return std::nullopt;
}

unsigned status_of(const http3::FieldSection& fields) {
  const std::string_view text = fields.find(":status");
  unsigned status = 0;
  std::from_chars(text.data(), text.data() + text.size(), status);
  return status;
}

// Returns the number of sessions that a server accepts at one time, if it announces one.
std::size_t session_limit(const http3::WebTransportSettings& settings) {
  const std::uint64_t limit =
      std::max(settings.max_sessions_draft07, settings.max_sessions_draft13);
  return limit == 0 ? SIZE_MAX : static_cast<std::size_t>(limit);
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

// --- sessions -----------------------------------------------------------------------------------

quic::Result<StreamId, http3::Refusal> SessionSet::connect(const http3::FieldSection& fields) {
  const auto& settings = http_.peer_settings();
  if (!settings) return http3::Refusal::kNotReady;
  const http3::WebTransportSettings& spoken = settings->webtransport;
  if (!spoken.any()) return http3::Refusal::kNotSupported;
  // Older drafts let several sessions share a connection.
  const bool older = spoken.older_draft();
  const Dialect dialect = older ? Dialect::kWebTransport : Dialect::kWebTransportH3;
  if (!room_for(dialect, session_limit(spoken))) return http3::Refusal::kStreamLimit;
  http3::FieldSection request = {{":method", "CONNECT"},
                                 {":protocol", older ? k_protocol : k_protocol_h3},
                                 {":scheme", "https"}};
  append(request, fields);
  if (spoken.draft02) request.add({"sec-webtransport-http3-draft02", "1"});
  const auto stream = http_.submit_request(request, true);
  if (stream) sessions_.add(*stream, dialect);
  return stream;
}

// Draft 16 §5.1: a session of the new dialect does not share its connection with others, because
// flow control is never announced here.
bool SessionSet::room_for(Dialect dialect, std::size_t limit) const {
  std::size_t open = 0;
  for (const auto& [id, session] : sessions_) {
    if (session.state() == Session::State::kClosed) continue;
    if (session.dialect() == Dialect::kWebTransportH3) return false;
    ++open;
  }
  return open < (dialect == Dialect::kWebTransportH3 ? 1 : limit);
}

quic::Status<http3::Refusal> SessionSet::accept(StreamId id, const http3::FieldSection& fields,
                                                quic::Time now) {
  Session* session = sessions_.find(id);
  if (!session || session->state() != Session::State::kRequested) {
    return http3::Refusal::kUnknownStream;
  }
  http3::FieldSection response = {{":status", "200"}};
  if (session->dialect() == Dialect::kWebTransport) {
    response.add({"sec-webtransport-http3-draft", "draft02"});
  }
  append(response, fields);
  if (auto status = http_.submit_response(id, response, true); !status) return status;
  establish(id, *session);
  // Safari counts streams and bytes of a session, and expects these limits.
  if (http_.peer_settings() && http_.peer_settings()->webtransport.flow_control) {
    static_cast<void>(http_.write_body(id, quic::SendChunk::copy_of(encode_no_limits()), false));
  }
  read_capsules(id, *session, now);
  return {};
}

void SessionSet::establish(StreamId id, Session& session) {
  session.establish();
  streams_.release_waiting(id);
  http_.datagrams().claim(id, datagrams_);
}

quic::Status<http3::Refusal> SessionSet::reject(StreamId id, unsigned status) {
  Session* session = sessions_.find(id);
  if (!session || session->state() != Session::State::kRequested) {
    return http3::Refusal::kUnknownStream;
  }
  const std::string text = std::to_string(status);
  if (auto result = http_.submit_response(id, {{":status", text}}, false); !result) return result;
  session->close();
  http_.stop_reading(id, value_of(http3::ErrorCode::kNoError));
  streams_.release_waiting(id);
  return {};
}

void SessionSet::drain(StreamId id) {
  Session* session = sessions_.find(id);
  if (!session || session->state() != Session::State::kEstablished) return;
  static_cast<void>(http_.write_body(id, quic::SendChunk::copy_of(encode_drain()), false));
}

void SessionSet::close(StreamId id, const CloseInfo& info) {
  Session* session = sessions_.find(id);
  if (!session || session->state() == Session::State::kClosed) return;
  const SessionClosed event{id, info.code, info.reason, true};
  if (session->state() == Session::State::kRequested) {
    http_.reset(id, value_of(http3::ErrorCode::kRequestCancelled));
    return end(id, *session, event);
  }
  const CloseInfo cut{info.code, std::string(quic::utf8_prefix(info.reason, k_max_close_reason))};
  if (!http_.write_body(id, quic::SendChunk::copy_of(encode_close(cut)), true)) {
    // The peer does not read the stream.
    http_.reset(id, value_of(http3::ErrorCode::kNoError));
    return end(id, *session, event);
  }
  // The peer should learn the code before its streams are reset, so they are reset once it has
  // responded (`end`). Chromium may tell the page "Connection lost" when both arrive together.
  finish(id, *session, event);
}

void SessionSet::end(StreamId id, Session& session, const SessionClosed& event) {
  finish(id, session, event);
  streams_.reset_all(session);
}

void SessionSet::finish(StreamId id, Session& session, const SessionClosed& event) {
  if (session.state() == Session::State::kClosed) return;
  session.close();
  streams_.release_waiting(id);
  events_.push_back(event);
}

bool SessionSet::handle(http3::RequestReceived& event, quic::Time) {
  const auto dialect = dialect_of(event.fields);
  if (!dialect) {
    streams_.release_waiting(event.stream);
    return false;
  }
  if (!room_for(*dialect, http_.max_webtransport_sessions())) {
    http_.reset(event.stream, value_of(http3::ErrorCode::kRequestRejected));
    streams_.release_waiting(event.stream);
    return true;
  }
  sessions_.add(event.stream, *dialect);
  SessionRequested requested{event.stream, std::move(event.fields)};
  if (http_.peer_settings()) {
    events_.push_back(std::move(requested));
  } else {
    unannounced_.push_back(std::move(requested));
  }
  return true;
}

// Draft 16 §3.1: before SETTINGS, it is unknown which draft the client speaks.
bool SessionSet::handle(http3::SettingsReceived&, quic::Time) {
  for (SessionRequested& requested : std::exchange(unannounced_, {})) {
    const Session* session = sessions_.find(requested.session);
    if (!session || session->state() == Session::State::kClosed) continue;
    events_.push_back(std::move(requested));
  }
  return false;
}

bool SessionSet::handle(http3::ResponseReceived& event, quic::Time) {
  Session* session = sessions_.find(event.stream);
  if (!session) return false;
  if (event.informational || session->state() != Session::State::kRequested) return true;
  const unsigned status = status_of(event.fields);
  if (status < 200 || status > 299) {
    session->close();
    http_.reset(event.stream, value_of(http3::ErrorCode::kRequestCancelled));
    events_.push_back(SessionRefused{event.stream, status});
  } else {
    events_.push_back(SessionEstablished{event.stream, std::move(event.fields)});
    establish(event.stream, *session);
    return true;
  }
  streams_.release_waiting(event.stream);
  return true;
}

bool SessionSet::handle(http3::BodyReadable& event, quic::Time now) {
  Session* session = sessions_.find(event.stream);
  if (session) read_capsules(event.stream, *session, now);
  return session != nullptr;
}

void SessionSet::read_capsules(StreamId id, Session& session, quic::Time now) {
  // Bytes of a session that is not accepted yet wait in the transport.
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
    if (const auto& payload = (*signal)->datagram) {
      datagrams_.on_datagram({id, *payload});
    }
    if (const auto& closed = (*signal)->closed) {
      static_cast<void>(http_.write_body(id, {}, true));
      end(id, session, {id, closed->code, closed->reason, true});
    }
  }
}

bool SessionSet::handle(http3::MessageFinished& event, quic::Time) {
  Session* session = sessions_.find(event.stream);
  if (!session) return false;
  if (session->state() == Session::State::kClosed) {
    streams_.reset_all(*session);
  } else if (!session->at_boundary()) {
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
  Session* session = sessions_.find(event.stream);
  if (!session) return false;
  http_.reset(event.stream, value_of(http3::ErrorCode::kNoError));
  if (http_.transport().role() == quic::Role::kClient &&
      session->state() == Session::State::kRequested) {
    session->close();
    events_.push_back(SessionRefused{event.stream, 0});
    streams_.release_waiting(event.stream);
  } else {
    end(event.stream, *session, {event.stream, 0, {}, false});
  }
  return true;
}

bool SessionSet::handle(http3::WritingStopped& event, quic::Time) {
  // Nothing can be sent on a CONNECT stream that the peer does not read. Before the response,
  // STOP_SENDING precedes a refusal. After a close, it only means that the peer was faster. In all
  // other cases the peer's own end of the stream is in flight with the reason: webtransport-go
  // stops reading before it sends its close capsule.
  Session* session = sessions_.find(event.stream);
  if (session && session->state() == Session::State::kClosed) streams_.reset_all(*session);
  return session != nullptr;
}

bool SessionSet::handle(http3::StreamClosed& event, quic::Time) {
  Session* session = sessions_.find(event.stream);
  if (session) streams_.reset_all(*session);
  sessions_.remove(event.stream);
  streams_.release_waiting(event.stream);
  return session != nullptr;
}

bool SessionSet::handle(http3::WebTransportStreamOpened& event, quic::Time) {
  streams_.on_opened(event);
  return true;
}

bool SessionSet::handle(http3::HandedOverStreamEvent& event, quic::Time now) {
  streams_.on_event(event.event, now);
  return true;
}

bool SessionSet::handle(http3::DatagramOutcome& event, quic::Time) {
  return datagrams_.on_outcome(event);
}

bool SessionSet::handle(http3::BodyWritable& event, quic::Time) {
  Session* session = sessions_.find(event.stream);
  if (session) datagrams_.on_capsules_writable(*session);
  return session != nullptr;
}

bool SessionSet::handle(http3::DatagramsWritable&, quic::Time) {
  datagrams_.on_writable();
  return true;
}

}  // namespace sheaf::webtransport
