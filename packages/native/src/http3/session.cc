#include "http3/session.h"

#include <algorithm>
#include <variant>

#include "http3/frame_type.h"

namespace sheaf::http3 {
namespace {

// No connection ever has these server-initiated unidirectional streams, so the bytes that nghttp3
// writes for them are dropped.
constexpr StreamId k_no_encoder_stream{quic::k_max_varint};
constexpr StreamId k_no_decoder_stream{quic::k_max_varint - 4};

}  // namespace

Session::Session(Transport& transport, const SessionConfig& config, quic::Random& random)
    : parts_(transport, config, *this),
      reader_(parts_),
      writer_(parts_),
      peer_streams_(parts_, reader_, *this),
      own_streams_(parts_, random),
      datagrams_(parts_, writer_) {}

void Session::start(Time now) {
  parts_.now = now;
  if (parts_.config.requests_only) {
    return parts_.framing.bind_qpack_streams(k_no_encoder_stream, k_no_decoder_stream);
  }
  own_streams_.start();
  writer_.write_pending();
}

void Session::on_event(const quic::Event& event, Time now) {
  parts_.now = now;
  if (const auto* closed = std::get_if<quic::ConnectionClosed>(&event)) {
    parts_.closed = true;
    parts_.events.push_back(SessionClosed{*closed});
  }
  if (parts_.closed) return;
  if (const auto* stream = std::get_if<quic::StreamEvent>(&event)) {
    on_stream_event(*stream);
    read_waiting();
    writer_.write_pending();
  } else if (std::holds_alternative<quic::DatagramReceivedEvent>(event)) {
    datagrams_.read();
  } else if (std::holds_alternative<quic::DatagramsWritableEvent>(event)) {
    parts_.events.push_back(DatagramsWritable{});
  } else if (const auto* arrived = std::get_if<quic::DatagramAcknowledgedEvent>(&event)) {
    parts_.events.push_back(DatagramOutcome{arrived->identifier, true});
  } else if (const auto* lost = std::get_if<quic::DatagramLostEvent>(&event)) {
    parts_.events.push_back(DatagramOutcome{lost->identifier, false});
  }
}

std::optional<SessionEvent> Session::poll_event() {
  if (parts_.events.empty() && parts_.admission.waiting() > 0) {
    // A request may have become light since.
    read_waiting();
    writer_.write_pending();
  }
  if (parts_.events.empty()) return std::nullopt;
  std::optional<SessionEvent> event = std::move(parts_.events.front());
  parts_.events.pop_front();
  return event;
}

void Session::on_stream_event(const quic::StreamEvent& event) {
  using Kind = quic::StreamEvent::Kind;
  if (event.kind == Kind::kStreamsAvailable) {
    own_streams_.open();
    writer_.write_pending();
    parts_.events.push_back(StreamsAvailable{event.stream.directionality()});
    return;
  }
  if (parts_.handed_over.contains(event.stream)) return on_handed_over(event);
  switch (event.kind) {
    case Kind::kOpened:
      return on_opened(event.stream);
    case Kind::kReadable:
      return read_stream(event.stream);
    case Kind::kWritable:
      return writer_.on_writable(event.stream);
    case Kind::kStopSending:
      return on_stop_sending(event.stream, event.value);
    case Kind::kReset:
      return on_reset(event.stream, event.value);
    case Kind::kLost:
      return on_lost(event.stream);
    case Kind::kClosed:
      return on_stream_closed(event.stream);
    case Kind::kAcknowledged:
      // RFC 9114 §5.2: the final GOAWAY follows after requests in flight have had time to arrive.
      // The peer has received the first GOAWAY, so a round trip has passed.
      if (own_streams_.has_announced(event.stream, event.value)) shut_down();
      return;
    case Kind::kStreamsAvailable:
      return;
  }
}

void Session::on_handed_over(const quic::StreamEvent& event) {
  if (event.kind == quic::StreamEvent::Kind::kClosed) {
    parts_.handed_over.erase(event.stream);
    if (event.stream.initiator() != parts_.transport.role()) {
      parts_.admission.leave(RequestAdmission::Place::kAdmitted);
      read_waiting();
    }
  }
  parts_.events.push_back(HandedOverStreamEvent{event});
}

void Session::on_opened(StreamId id) {
  if (id.initiator() == parts_.transport.role()) return;
  if (id.directionality() == Directionality::kUnidirectional) {
    peer_streams_.on_opened(id);
  } else if (parts_.transport.role() == Role::kServer || parts_.config.webtransport) {
    parts_.requests.try_emplace(id);
    parts_.next_unopened = std::max(parts_.next_unopened, id.value + 4);
  } else {
    // RFC 9114 §6.1: only clients open bidirectional streams.
    parts_.fail({ErrorCode::kStreamCreationError, "bidirectional stream opened by the server"});
  }
}

void Session::on_reset(StreamId id, std::uint64_t error) {
  static_cast<void>(parts_.transport.consume(id, 0, parts_.now));  // the reset has been seen
  if (!peer_streams_.on_reset(id)) reader_.on_reset(id, error);
}

// Data that arrived from a backend before it was lost is valid, and is read first.
void Session::on_lost(StreamId id) {
  RequestStream* stream = parts_.find(id);
  if (!stream || stream->reading_done) {
    return parts_.transport.stop_sending(id, quic::k_backend_lost);  // nobody reads the rest
  }
  stream->lost = true;
  if (stream->writing == RequestStream::Writing::kBody || !stream->chunks.empty()) {
    parts_.end_writing(id, *stream);
    parts_.events.push_back(WritingStopped{id, quic::k_backend_lost});
  }
  reader_.read(id, *stream);
}

void Session::on_stop_sending(StreamId id, std::uint64_t error) {
  if (own_streams_.contains(id)) {
    return parts_.fail({ErrorCode::kClosedCriticalStream, "critical stream was refused"});
  }
  RequestStream* stream = parts_.find(id);
  if (!stream || !parts_.count_cancellation(*stream)) return;
  parts_.transport.reset_stream(id, error);  // RFC 9000 §3.5
  parts_.end_writing(id, *stream);
  stream->close_error = error;
  if (stream->message_begun || parts_.transport.role() == Role::kClient) {
    parts_.events.push_back(WritingStopped{id, error});
  }
}

void Session::read_stream(StreamId id) {
  if (RequestStream* request = parts_.find(id)) return reader_.read(id, *request);
  peer_streams_.read(id);
}

void Session::read_waiting() {
  while (!parts_.closed) {
    const auto id = parts_.admission.next();
    if (!id) return;
    read_stream(*id);
  }
}

void Session::on_stream_closed(StreamId id) {
  if (peer_streams_.on_closed(id)) return;
  const auto request = parts_.requests.find(id);
  if (request == parts_.requests.end()) return;
  const std::uint64_t error = request->second.close_error;
  const bool known = request->second.message_begun || parts_.transport.role() == Role::kClient;
  parts_.admission.leave(request->second.place);
  parts_.requests.erase(request);
  datagrams_.release(id);
  parts_.framing.close_stream(id, error == 0 ? value_of(ErrorCode::kNoError) : error);
  if (known) parts_.events.push_back(StreamClosed{id});
}

// --- requests ---------------------------------------------------------------------------------

quic::Result<StreamId, Refusal> Session::submit_request(const FieldSection& fields, bool has_body) {
  return writer_.submit_request(fields, has_body);
}

quic::Status<Refusal> Session::submit_informational(StreamId id, const FieldSection& fields) {
  return writer_.submit_informational(id, fields);
}

quic::Status<Refusal> Session::submit_response(StreamId id, const FieldSection& fields,
                                               bool has_body) {
  return writer_.submit_response(id, fields, has_body);
}

quic::Result<bool, Refusal> Session::write_body(StreamId id, SendChunk chunk, bool fin) {
  return writer_.write_body(id, std::move(chunk), fin);
}

std::size_t Session::reserve_body(StreamId id) { return writer_.reserve_body(id); }

quic::Status<Refusal> Session::submit_trailers(StreamId id, const FieldSection& fields) {
  return writer_.submit_trailers(id, fields);
}

quic::Status<Refusal> Session::hand_off(StreamId id, Bytes head,
                                        std::optional<std::uint64_t> body_length,
                                        std::uint64_t begun) {
  return writer_.hand_off(id, head, body_length, begun);
}

quic::Result<bool, Refusal> Session::write_instead(StreamId id, std::uint64_t offset,
                                                   SendChunk chunk, bool fin) {
  return writer_.write_instead(id, offset, std::move(chunk), fin);
}

Bytes Session::peek_body(StreamId id) const { return reader_.peek_body(id); }

void Session::consume_body(StreamId id, std::size_t bytes, Time now) {
  parts_.now = now;
  reader_.consume_body(id, bytes);
  writer_.write_pending();
}

std::size_t Session::readable_body(StreamId id) const { return reader_.readable_body(id); }

std::size_t Session::read_body(StreamId id, quic::MutableBytes out, Time now) {
  parts_.now = now;
  const std::size_t size = reader_.read_body(id, out);
  writer_.write_pending();
  return size;
}

void Session::stop_reading(StreamId id, std::uint64_t error) {
  RequestStream* stream = parts_.find(id);
  if (parts_.closed || !stream || stream->reading_done) return;
  stream->reading_done = true;
  parts_.transport.stop_sending(id, error);
  if (auto status = parts_.framing.shut_reading(id); !status) return parts_.fail(status.error());
  parts_.discard(id);
  writer_.write_pending();
}

void Session::reset(StreamId id, std::uint64_t error) {
  RequestStream* stream = parts_.find(id);
  if (parts_.closed || !stream) return;
  parts_.abandon(id, *stream, error);
  writer_.write_pending();
}

void Session::set_priority(StreamId id, const StreamPriority& priority) {
  if (parts_.closed || !parts_.find(id)) return;
  parts_.framing.set_priority(id, priority);
  parts_.transport.set_priority(id, priority);
}

quic::Status<Refusal> Session::request_priority(StreamId id, const StreamPriority& priority) {
  if (parts_.closed) return Refusal::kConnectionClosed;
  if (parts_.transport.role() != Role::kClient) return Refusal::kNotSupported;
  if (!parts_.find(id)) return Refusal::kUnknownStream;
  const std::string text =
      "u=" + std::to_string(priority.urgency) + (priority.incremental ? ", i" : "");
  std::vector<std::uint8_t> payload(8 + text.size());
  quic::Writer writer(payload);
  writer.write_varint(id.value);
  writer.write_bytes({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  own_streams_.write_control_frame(k_frame_priority_update, writer.written());
  parts_.transport.set_priority(id, priority);
  return {};
}

// --- what the peer's control stream says -------------------------------------------------------

ConnectionStatus Session::on_settings(const Settings& settings) {
  // RFC 9297 §2.1.1: HTTP datagrams require QUIC datagrams.
  if (settings.datagrams && !parts_.transport.peer_takes_datagrams()) {
    return ConnectionError{ErrorCode::kSettingsError, "H3_DATAGRAM without QUIC datagrams"};
  }
  // draft-ietf-webtrans-http3-16 §3.1: the value is 0 or 1.
  if (parts_.transport.role() == Role::kClient && settings.webtransport.enabled_draft15 > 1) {
    return ConnectionError{ErrorCode::kSettingsError, "WT_ENABLED above 1"};
  }
  parts_.peer_settings = settings;
  parts_.events.push_back(SettingsReceived{});
  // docs/internals/multi-end.md: backends have no dynamic table.
  Settings usable = settings;
  if (parts_.transport.multi_end() && parts_.transport.role() == Role::kClient) {
    usable.qpack_max_table_capacity = usable.qpack_blocked_streams = 0;
  }
  // The stream that these SETTINGS came on is the only control stream so far.
  const auto control = peer_streams_.control();
  return control ? parts_.framing.apply_peer_settings(*control, usable) : ConnectionStatus{};
}

void Session::on_go_away(std::uint64_t id) {
  parts_.events.push_back(GoAwayReceived{id});
  if (parts_.transport.role() == Role::kServer) return;  // the id names a push
  writer_.stop_requests();
  for (auto& [stream_id, stream] : parts_.requests) {
    if (stream_id.value < id || stream_id.initiator() == Role::kServer || stream.reading_done ||
        parts_.transport.at_backend(stream_id)) {
      continue;
    }
    parts_.abandon(stream_id, stream, value_of(ErrorCode::kRequestCancelled));
    parts_.events.push_back(StreamReset{stream_id, value_of(ErrorCode::kRequestRejected)});
  }
}

ConnectionStatus Session::on_priority_update(StreamId id, Bytes value) {
  const auto priority = MessageFraming::parse_priority(value);
  if (!priority) {
    return ConnectionError{ErrorCode::kGeneralProtocolError, "priority is not a structured field"};
  }
  reader_.prioritize(id, *priority);
  return {};
}

// --- the end ----------------------------------------------------------------------------------

void Session::announce_shutdown() {
  if (parts_.config.requests_only) return shut_down();
  // A client could only refuse pushes, and there are none.
  if (parts_.closed || parts_.transport.role() == Role::kClient || reader_.refusing()) return;
  own_streams_.announce_shutdown();
}

void Session::shut_down() {
  if (parts_.config.requests_only) {
    reader_.refuse_all();
  } else if (!parts_.closed && own_streams_.has_control() && !reader_.refusing()) {
    own_streams_.write_go_away(reader_.refuse_rest());
  }
}

void Session::close(ErrorCode code, std::string_view reason, Time now) {
  parts_.now = now;
  parts_.fail({code, reason});
}

}  // namespace sheaf::http3
