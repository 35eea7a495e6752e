#include "http3/session.h"

#include <algorithm>
#include <variant>

#include "http3/frame_type.h"

namespace sheaf::http3 {
namespace {

// Bytes that nghttp3 writes for these go nowhere: they are server-initiated unidirectional streams
// that no connection ever has.
constexpr StreamId k_no_encoder_stream{quic::k_max_varint};
constexpr StreamId k_no_decoder_stream{quic::k_max_varint - 4};
// Requests that a peer may cancel: as many at one time as there are streams, for pages that are
// left; and a second.
constexpr double k_cancellations = 1000;
constexpr double k_cancellations_per_second = 100;

Settings local_settings(Role role, const SessionConfig& config) {
  Settings settings;
  settings.qpack_max_table_capacity = config.requests_only ? 0 : config.qpack_table_capacity;
  settings.qpack_blocked_streams = config.requests_only ? 0 : config.qpack_blocked_streams;
  settings.max_field_section_size = config.max_field_section_size;
  settings.enable_connect_protocol =
      (config.extended_connect || config.webtransport) && role == Role::kServer;
  settings.datagrams = config.datagrams || config.webtransport;
  if (config.webtransport) {
    settings.webtransport = {.draft02 = true,
                             .max_sessions_draft07 = config.max_webtransport_sessions,
                             .max_sessions_draft13 = config.max_webtransport_sessions,
                             .enabled_draft15 = 1,
                             .flow_control = false};
  }
  return settings;
}

}  // namespace

Session::Session(Transport& transport, const SessionConfig& config, quic::Random& random)
    : transport_(transport),
      config_(config),
      random_(random),
      framing_(transport.role(), local_settings(transport.role(), config), *this),
      control_reader_(transport.role(), *this),
      admission_(transport),
      cancellations_(k_cancellations_per_second, k_cancellations) {}

void Session::start(Time now) {
  now_ = now;
  if (config_.requests_only) {
    return framing_.bind_qpack_streams(k_no_encoder_stream, k_no_decoder_stream);
  }
  started_ = true;
  open_critical_streams();
}

// RFC 9114 §6.2.1, RFC 9204 §4.2: one stream of each kind. A peer that grants fewer than three at
// first makes us wait.
void Session::open_critical_streams() {
  while (!closed_ && started_ && own_streams_.size() < 3) {
    const auto stream = transport_.open_stream(Directionality::kUnidirectional);
    if (!stream) return;
    own_streams_.push_back(*stream);
    // A page can be asked for with the first urgency, and its fields wait for QPACK's instructions.
    transport_.set_priority(*stream, {.ahead = true});
    if (own_streams_.size() == 1) {
      constexpr std::uint8_t type[] = {k_stream_control};
      static_cast<void>(transport_.write(*stream, SendChunk::copy_of(type), false));
      control_written_ = 1;
      const auto settings = local_settings(transport_.role(), config_);
      write_control_frame(k_frame_settings, encode_settings(settings, random_.next()));
    }
    if (own_streams_.size() == 3) framing_.bind_qpack_streams(own_streams_[1], own_streams_[2]);
  }
  write_pending();
}

void Session::write_control_frame(std::uint64_t type, Bytes payload) {
  scratch_.resize(16 + payload.size());
  quic::Writer writer(scratch_);
  writer.write_varint(type);
  writer.write_varint(payload.size());
  writer.write_bytes(payload);
  static_cast<void>(transport_.write(own_streams_[0], SendChunk::copy_of(writer.written()), false));
  control_written_ += writer.size();
}

void Session::on_event(const quic::Event& event, Time now) {
  now_ = now;
  if (const auto* closed = std::get_if<quic::ConnectionClosed>(&event)) {
    closed_ = true;
    events_.push_back(SessionClosed{*closed});
  }
  if (closed_) return;
  if (const auto* stream = std::get_if<quic::StreamEvent>(&event)) {
    on_stream_event(*stream);
    read_waiting();
    write_pending();
  } else if (std::holds_alternative<quic::DatagramReceivedEvent>(event)) {
    read_datagrams();
  } else if (std::holds_alternative<quic::DatagramsWritableEvent>(event)) {
    events_.push_back(DatagramsWritable{});
  } else if (const auto* arrived = std::get_if<quic::DatagramAcknowledgedEvent>(&event)) {
    events_.push_back(DatagramOutcome{arrived->identifier, true});
  } else if (const auto* lost = std::get_if<quic::DatagramLostEvent>(&event)) {
    events_.push_back(DatagramOutcome{lost->identifier, false});
  }
}

std::optional<SessionEvent> Session::poll_event() {
  if (events_.empty()) return std::nullopt;
  std::optional<SessionEvent> event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void Session::on_stream_event(const quic::StreamEvent& event) {
  using Kind = quic::StreamEvent::Kind;
  if (event.kind == Kind::kStreamsAvailable) {
    open_critical_streams();
    events_.push_back(StreamsAvailable{event.stream.directionality()});
    return;
  }
  if (handed_over_.contains(event.stream)) {
    if (event.kind == Kind::kClosed) {
      handed_over_.erase(event.stream);
      if (event.stream.initiator() != transport_.role()) {
        admission_.leave(RequestAdmission::Place::kAdmitted);
        read_waiting();
      }
    }
    events_.push_back(HandedOverStreamEvent{event});
    return;
  }
  switch (event.kind) {
    case Kind::kOpened:
      return on_opened(event.stream);
    case Kind::kReadable:
      return read_stream(event.stream);
    case Kind::kWritable:
      return on_writable(event.stream);
    case Kind::kStopSending:
      return on_stop_sending(event.stream, event.value);
    case Kind::kReset:
      return on_reset(event.stream, event.value);
    case Kind::kLost:
      return on_lost(event.stream);
    case Kind::kClosed:
      return on_stream_closed(event.stream);
    case Kind::kAcknowledged:
      return on_acknowledged(event.stream, event.value);
    case Kind::kStreamsAvailable:
      return;
  }
}

void Session::on_opened(StreamId id) {
  if (id.initiator() == transport_.role()) return;
  if (id.directionality() == Directionality::kUnidirectional) {
    peer_streams_.try_emplace(id);
  } else if (transport_.role() == Role::kServer || config_.webtransport) {
    requests_.try_emplace(id);
    next_unopened_ = std::max(next_unopened_, id.value + 4);
  } else {
    // RFC 9114 §6.1.
    fail({ErrorCode::kStreamCreationError, "bidirectional stream opened by the server"});
  }
}

void Session::on_reset(StreamId id, std::uint64_t error) {
  static_cast<void>(transport_.consume(id, 0, now_));  // the reset has been seen
  if (const auto peer = peer_streams_.find(id); peer != peer_streams_.end()) {
    const auto kind = peer->second.kind;
    if (kind == PeerStream::Kind::kControl || kind == PeerStream::Kind::kQpack) {
      fail({ErrorCode::kClosedCriticalStream, "critical stream was reset"});
    }
    return;
  }
  RequestStream* stream = find(id);
  if (!stream || !count_cancellation(*stream) || stream->reading_done) return;
  if (transport_.role() == Role::kServer && !stream->message_begun) {
    // The application has not heard of it, so the answering side is ours to end.
    return abandon(id, *stream, value_of(ErrorCode::kRequestCancelled));
  }
  stream->reading_done = true;
  stream->close_error = error;
  if (auto status = framing_.shut_reading(id); !status) return fail(status.error());
  events_.push_back(StreamReset{id, error});
}

// Data that arrived from a backend before it was lost is good, and is read first.
void Session::on_lost(StreamId id) {
  RequestStream* stream = find(id);
  if (!stream || stream->reading_done) {
    return transport_.stop_sending(id, quic::k_backend_lost);  // nobody reads the rest
  }
  stream->lost = true;
  if (stream->writing == RequestStream::Writing::kBody || !stream->chunks.empty()) {
    end_writing(id, *stream);
    events_.push_back(WritingStopped{id, quic::k_backend_lost});
  }
  read_request(id, *stream);
}

void Session::on_stop_sending(StreamId id, std::uint64_t error) {
  for (const StreamId own : own_streams_) {
    if (own == id) {
      return fail({ErrorCode::kClosedCriticalStream, "critical stream was refused"});
    }
  }
  RequestStream* stream = find(id);
  if (!stream || !count_cancellation(*stream)) return;
  transport_.reset_stream(id, error);  // RFC 9000 §3.5
  end_writing(id, *stream);
  stream->close_error = error;
  if (stream->message_begun || transport_.role() == Role::kClient) {
    events_.push_back(WritingStopped{id, error});
  }
}

// RFC 9114 §10.5: a cancelled request gives its stream's credit back at once, and its work has been
// begun all the same.
bool Session::count_cancellation(RequestStream& stream) {
  if (transport_.role() == Role::kClient || std::exchange(stream.cancelled, true)) return true;
  if (cancellations_.take(now_)) return true;
  fail({ErrorCode::kExcessiveLoad, "too many cancelled requests"});
  return false;
}

void Session::read_waiting() {
  while (!closed_) {
    const auto id = admission_.next();
    if (!id) return;
    read_stream(*id);
  }
}

void Session::end_writing(StreamId id, RequestStream& stream) {
  framing_.shut_writing(id);
  stream.writing = RequestStream::Writing::kEnded;
  stream.chunks.clear();
  stream.chunks_framed = 0;
}

void Session::on_stream_closed(StreamId id) {
  if (const auto peer = peer_streams_.find(id); peer != peer_streams_.end()) {
    admission_.leave(peer->second.place);
    peer_streams_.erase(peer);
    return;
  }
  const auto request = requests_.find(id);
  if (request == requests_.end()) return;
  const std::uint64_t error = request->second.close_error;
  const bool known = request->second.message_begun || transport_.role() == Role::kClient;
  admission_.leave(request->second.place);
  requests_.erase(request);
  datagrams_.release(id);
  framing_.close_stream(id, error == 0 ? value_of(ErrorCode::kNoError) : error);
  if (known) events_.push_back(StreamClosed{id});
}

void Session::fail(const ConnectionError& error) {
  if (closed_) return;
  closed_ = true;
  transport_.close(value_of(error.code), error.reason, now_);
}

RequestStream* Session::find(StreamId id) {
  const auto found = requests_.find(id);
  return found == requests_.end() ? nullptr : &found->second;
}

const RequestStream* Session::find(StreamId id) const {
  const auto found = requests_.find(id);
  return found == requests_.end() ? nullptr : &found->second;
}

void Session::abandon(StreamId id, RequestStream& stream, std::uint64_t error) {
  stream.close_error = error;
  stream.reading_done = true;
  stream.writing = RequestStream::Writing::kEnded;
  transport_.stop_sending(id, error);
  transport_.reset_stream(id, error);
  framing_.shut_writing(id);
  // RFC 9204 §2.2.2.2: QPACK must know that the rest is not read.
  if (auto status = framing_.shut_reading(id); !status) return fail(status.error());
  stream.chunks.clear();
  stream.chunks_framed = 0;
  discard(id);
}

void Session::stop_reading(StreamId id, std::uint64_t error) {
  RequestStream* stream = find(id);
  if (closed_ || !stream || stream->reading_done) return;
  stream->reading_done = true;
  transport_.stop_sending(id, error);
  if (auto status = framing_.shut_reading(id); !status) return fail(status.error());
  discard(id);
  write_pending();
}

void Session::reset(StreamId id, std::uint64_t error) {
  RequestStream* stream = find(id);
  if (closed_ || !stream) return;
  abandon(id, *stream, error);
  write_pending();
}

void Session::set_priority(StreamId id, const StreamPriority& priority) {
  if (closed_ || !find(id)) return;
  framing_.set_priority(id, priority);
  transport_.set_priority(id, priority);
}

void Session::announce_shutdown() {
  if (config_.requests_only) return shut_down();
  // A client refuses pushes only, of which there are none.
  if (closed_ || own_streams_.empty() || transport_.role() == Role::kClient) return;
  if (announcement_end_ != 0 || refused_from_ != quic::k_max_varint) return;
  std::array<std::uint8_t, 8> payload;
  quic::Writer writer(payload);
  writer.write_varint(quic::k_max_varint - 3);  // RFC 9114 §5.2: the largest request id
  write_control_frame(k_frame_go_away, writer.written());
  announcement_end_ = control_written_;
}

// RFC 9114 §5.2: the final GOAWAY follows once requests that were on their way have had time to
// come. The peer has seen the first one, so a round trip is over.
void Session::on_acknowledged(StreamId id, std::uint64_t offset) {
  if (announcement_end_ == 0 || id != own_streams_[0] || offset < announcement_end_) return;
  shut_down();
}

void Session::shut_down() {
  if (config_.requests_only) refused_from_ = 0;
  if (closed_ || own_streams_.empty() || refused_from_ != quic::k_max_varint) return;
  refused_from_ = transport_.role() == Role::kServer ? next_request_ : 0;
  std::array<std::uint8_t, 8> payload;
  quic::Writer writer(payload);
  writer.write_varint(refused_from_);
  write_control_frame(k_frame_go_away, writer.written());
}

void Session::close(ErrorCode code, std::string_view reason, Time now) {
  now_ = now;
  fail({code, reason});
}

bool Session::request_open_or_to_come(StreamId id) const {
  return transport_.role() == Role::kServer && (id.value >= next_unopened_ || find(id));
}

}  // namespace sheaf::http3
