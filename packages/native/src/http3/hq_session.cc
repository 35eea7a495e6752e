#include "http3/hq_session.h"

#include <algorithm>

namespace sheaf::http3 {
namespace {

constexpr std::size_t k_max_request_line = 8192;

// Returns "/path" of "GET /path", or an empty view for any other line.
std::string_view path_of(std::string_view line) {
  constexpr std::string_view k_get = "GET ";
  if (!line.starts_with(k_get)) return {};
  line.remove_prefix(k_get.size());
  while (line.ends_with('\r') || line.ends_with('\n') || line.ends_with(' ')) {
    line.remove_suffix(1);
  }
  return line.starts_with('/') ? line : std::string_view();
}

}  // namespace

void HqSession::on_event(const quic::Event& event, Time now) {
  if (const auto* closed = std::get_if<quic::ConnectionClosed>(&event)) {
    closed_ = true;
    events_.push_back(SessionClosed{*closed});
  } else if (const auto* stream = std::get_if<quic::StreamEvent>(&event); stream && !closed_) {
    on_stream_event(*stream, now);
    read_waiting(now);
  } else if (std::holds_alternative<quic::DatagramReceivedEvent>(event)) {
    // HTTP/0.9 has no datagrams. Transport parameters permit them all the same, since they are sent
    // before the protocol is known.
    while (transport_.receive_datagram()) {
    }
  }
}

void HqSession::read_waiting(Time now) {
  while (!closed_) {
    const auto id = admission_.next();
    if (!id) return;
    if (Exchange* exchange = find(*id)) read(*id, *exchange, now);
  }
}

std::optional<SessionEvent> HqSession::poll_event() {
  if (events_.empty()) return std::nullopt;
  std::optional<SessionEvent> event = std::move(events_.front());
  events_.pop_front();
  return event;
}

HqSession::Exchange* HqSession::find(StreamId id) {
  const auto found = exchanges_.find(id);
  return found == exchanges_.end() ? nullptr : &found->second;
}

void HqSession::on_stream_event(const quic::StreamEvent& event, Time now) {
  using Kind = quic::StreamEvent::Kind;
  const StreamId id = event.stream;
  if (event.kind == Kind::kStreamsAvailable) {
    events_.push_back(StreamsAvailable{id.directionality()});
    return;
  }
  if (event.kind == Kind::kOpened) {
    const bool request = id.initiator() == Role::kClient && transport_.role() == Role::kServer &&
                         id.directionality() == Directionality::kBidirectional;
    if (request && !refusing_) {
      exchanges_.try_emplace(id);
    } else {
      transport_.stop_sending(id, value_of(ErrorCode::kRequestRejected));
      transport_.reset_stream(id, value_of(ErrorCode::kRequestRejected));
    }
    return;
  }
  Exchange* exchange = find(id);
  if (!exchange) return;
  switch (event.kind) {
    case Kind::kReadable:
      return read(id, *exchange, now);
    case Kind::kWritable:
      if (std::exchange(exchange->full, false)) events_.push_back(BodyWritable{id});
      return;
    case Kind::kStopSending:
      transport_.reset_stream(id, event.value);
      events_.push_back(WritingStopped{id, event.value});
      return;
    case Kind::kLost:
      transport_.stop_sending(id, quic::k_backend_lost);  // nobody reads the rest
      [[fallthrough]];
    case Kind::kReset:
      static_cast<void>(transport_.consume(id, 0, now));
      exchange->reading_done = true;
      if (exchange->begun || transport_.role() == Role::kClient) {
        events_.push_back(
            StreamReset{id, event.kind == Kind::kLost ? quic::k_backend_lost : event.value});
      } else {
        transport_.reset_stream(id, value_of(ErrorCode::kRequestCancelled));
      }
      return;
    case Kind::kClosed: {
      const bool known = exchange->begun || transport_.role() == Role::kClient;
      admission_.leave(exchange->place);
      exchanges_.erase(id);
      if (known) events_.push_back(StreamClosed{id});
      return;
    }
    case Kind::kOpened:
    case Kind::kAcknowledged:
    case Kind::kStreamsAvailable:
      return;
  }
}

void HqSession::read(StreamId id, Exchange& exchange, Time now) {
  if (exchange.reading_done) return;
  const auto answer = admission_.admit(id, exchange.place);
  if (answer == RequestAdmission::Answer::kReject) {
    return reset(id, value_of(ErrorCode::kRequestRejected));
  }
  if (answer == RequestAdmission::Answer::kWait) return;
  if (transport_.role() == Role::kServer) return read_request(id, exchange, now);
  if (!std::exchange(exchange.begun, true)) {
    events_.push_back(ResponseReceived{id, {{":status", "200"}}, false});
  }
  if (transport_.peek(id).empty()) {
    const auto result = transport_.consume(id, 0, now);
    if (result && result->finished) finish(id, exchange);
  } else if (!std::exchange(exchange.readable_announced, true)) {
    events_.push_back(BodyReadable{id});
  }
}

void HqSession::read_request(StreamId id, Exchange& exchange, Time now) {
  bool finished = false;
  while (!finished && exchange.line.find('\n') == std::string::npos) {
    const Bytes bytes = transport_.peek(id);
    const std::size_t size = std::min(bytes.size(), k_max_request_line + 1 - exchange.line.size());
    exchange.line.append(reinterpret_cast<const char*>(bytes.data()), size);
    const auto result = transport_.consume(id, size, now);
    if (!result || result->reset) return;
    finished = result->finished;
    if (exchange.line.size() > k_max_request_line) {
      return reset(id, value_of(ErrorCode::kExcessiveLoad));
    }
    if (size == 0 && !finished) return;
  }
  const std::string_view path = path_of(exchange.line);
  if (path.empty()) return reset(id, value_of(ErrorCode::kGeneralProtocolError));
  exchange.begun = true;
  events_.push_back(RequestReceived{id,
                                    {{":method", "GET"}, {":scheme", "https"}, {":path", path}},
                                    transport_.received_early(id)});
  // A request has no body, so nothing after its line is read.
  transport_.stop_sending(id, value_of(ErrorCode::kNoError));
  finish(id, exchange);
}

void HqSession::finish(StreamId id, Exchange& exchange) {
  exchange.reading_done = true;
  events_.push_back(MessageFinished{id});
}

quic::Result<StreamId, Refusal> HqSession::submit_request(const FieldSection& fields,
                                                          bool has_body) {
  if (closed_) return Refusal::kConnectionClosed;
  const std::string_view path = fields.find(":path");
  if (transport_.role() != Role::kClient || has_body || fields.find(":method") != "GET") {
    return Refusal::kNotSupported;
  }
  if (!path.starts_with('/') || path.find_first_of("\r\n ") != std::string_view::npos) {
    return Refusal::kInvalidField;
  }
  const auto id = transport_.open_stream(Directionality::kBidirectional);
  if (!id) return Refusal::kStreamLimit;
  exchanges_.try_emplace(*id);
  const std::string line = "GET " + std::string(path) + "\r\n";
  static_cast<void>(transport_.write(
      *id, SendChunk::copy_of({reinterpret_cast<const std::uint8_t*>(line.data()), line.size()}),
      true));
  return *id;
}

quic::Status<Refusal> HqSession::submit_informational(StreamId, const FieldSection&) { return {}; }

quic::Status<Refusal> HqSession::submit_response(StreamId id, const FieldSection& fields,
                                                 bool has_body) {
  if (closed_) return Refusal::kConnectionClosed;
  Exchange* exchange = find(id);
  if (transport_.role() != Role::kServer || !exchange || !exchange->begun) {
    return Refusal::kUnknownStream;
  }
  if (std::exchange(exchange->responding, true)) return Refusal::kWrongState;
  if (!fields.find(":status").starts_with('2')) {
    transport_.reset_stream(id, value_of(ErrorCode::kRequestCancelled));
  } else if (!has_body) {
    static_cast<void>(transport_.write(id, {}, true));
  }
  return {};
}

quic::Result<bool, Refusal> HqSession::write_body(StreamId id, SendChunk chunk, bool fin) {
  if (closed_) return Refusal::kConnectionClosed;
  Exchange* exchange = find(id);
  if (!exchange) return Refusal::kUnknownStream;
  if (!exchange->responding) return Refusal::kWrongState;
  const auto accepted = transport_.write(id, std::move(chunk), fin);
  if (!accepted) return Refusal::kWrongState;
  exchange->full = !*accepted;
  return *accepted;
}

std::size_t HqSession::reserve_body(StreamId id) {
  const std::uint64_t size = transport_.reserve(id);
  Exchange* exchange = find(id);
  if (exchange && size == 0) exchange->full = true;
  return size;
}

quic::Status<Refusal> HqSession::submit_trailers(StreamId id, const FieldSection&) {
  // HTTP/0.9 has no trailers. The message ends all the same.
  const auto ended = write_body(id, {}, true);
  return ended ? quic::Status<Refusal>() : quic::Status<Refusal>(ended.error());
}

Bytes HqSession::peek_body(StreamId id) const {
  const auto found = exchanges_.find(id);
  const bool readable =
      !closed_ && found != exchanges_.end() && found->second.begun && !found->second.reading_done;
  return readable ? transport_.peek(id) : Bytes();
}

void HqSession::consume_body(StreamId id, std::size_t bytes, Time now) {
  Exchange* exchange = find(id);
  if (closed_ || !exchange || exchange->reading_done) return;
  exchange->readable_announced = false;
  const auto result = transport_.consume(id, std::min(bytes, transport_.peek(id).size()), now);
  if (result && result->finished) finish(id, *exchange);
}

std::size_t HqSession::readable_body(StreamId id) const {
  return peek_body(id).empty() ? 0 : static_cast<std::size_t>(transport_.readable_bytes(id));
}

std::size_t HqSession::read_body(StreamId id, quic::MutableBytes out, Time now) {
  if (peek_body(id).empty()) return 0;
  const auto result = transport_.read(id, out, now);
  if (!result || result->reset) return 0;
  Exchange& exchange = *find(id);
  exchange.readable_announced = transport_.readable_bytes(id) > 0;
  if (result->finished) finish(id, exchange);
  return result->bytes;
}

void HqSession::stop_reading(StreamId id, std::uint64_t error) {
  Exchange* exchange = find(id);
  if (!exchange) return;
  exchange->reading_done = true;
  transport_.stop_sending(id, error);
}

void HqSession::reset(StreamId id, std::uint64_t error) {
  stop_reading(id, error);
  transport_.reset_stream(id, error);
}

void HqSession::set_priority(StreamId id, const StreamPriority& priority) {
  transport_.set_priority(id, priority);
}

void HqSession::close(ErrorCode code, std::string_view reason, Time now) {
  if (std::exchange(closed_, true)) return;
  transport_.close(value_of(code), reason, now);
}

}  // namespace sheaf::http3
