#include <algorithm>

#include "http3/frame_type.h"
#include "http3/session.h"

// The peer's messages: request streams from bytes to events.

namespace sheaf::http3 {
namespace {

// QPACK may keep what it is given while it waits for its table, so it is given little at a time.
constexpr std::size_t k_max_slice = 4096;

// RFC 9110 §15.2 sets no limit; nobody needs more than a few.
constexpr unsigned k_max_interim_responses = 64;

bool informational(const FieldSection& fields) { return fields.find(":status").starts_with('1'); }

}  // namespace

void Session::read_stream(StreamId id) {
  if (RequestStream* request = find(id)) return read_request(id, *request);
  if (const auto peer = peer_streams_.find(id); peer != peer_streams_.end()) {
    return read_peer_stream(id, peer->second);
  }
}

void Session::read_request(StreamId id, RequestStream& stream) {
  if (!stream.reading_done && !admitted(id, stream)) return;
  while (!closed_ && stream.blocked_bytes == 0) {
    if (stream.reading_done) return discard(id);
    std::size_t used = std::exchange(stream.held_bytes, 0);
    bool starved = false;
    if (used == 0) {
      const Bytes bytes = transport_.peek(id);
      starved = bytes.empty();
      if (!starved && stream.position == RequestStream::Position::kBody) {
        if (!std::exchange(stream.readable_announced, true)) {
          events_.push_back(BodyReadable{id});
        }
        return;
      }
      used = stream.position == RequestStream::Position::kFrameHeader
                 ? read_frame_header(id, stream, bytes)
                 : read_frame_payload(id, stream, bytes);
      if (closed_ || stream.reading_done) return;
      if (stream.blocked_bytes > 0) {
        stream.held_bytes = used;
        return;
      }
    }
    const auto result = transport_.consume(id, used, now_);
    if (!result || result->reset) return;  // an event of its own tells of the reset
    if (stream.position == RequestStream::Position::kHandedOver) {
      const StreamId session{stream.frame_header.length()};
      requests_.erase(id);
      return hand_over_incoming(id, session, result->finished);
    }
    if (result->finished) return finish_reading(id, stream);
    if (starved && stream.lost) return on_reset(id, quic::k_backend_lost);
    if (starved) return;
  }
}

bool Session::admitted(StreamId id, RequestStream& stream) {
  const auto answer = admission_.admit(id, stream.place);
  if (answer == RequestAdmission::Answer::kReject) {
    abandon(id, stream, value_of(ErrorCode::kRequestRejected));
  }
  return answer == RequestAdmission::Answer::kRead;
}

std::size_t Session::read_frame_header(StreamId id, RequestStream& stream, Bytes bytes) {
  const std::size_t used = stream.frame_header.append(bytes);
  if (used > 0 && stream.frame_header.complete()) begin_frame(id, stream);
  return used;
}

void Session::begin_frame(StreamId id, RequestStream& stream) {
  const std::uint64_t type = stream.frame_header.type();
  if (std::exchange(stream.first_frame, false)) {
    if (config_.webtransport && type == k_frame_webtransport_stream) {
      stream.position = RequestStream::Position::kHandedOver;
      return;
    }
    if (id.initiator() == Role::kServer) {
      return fail({ErrorCode::kStreamCreationError, "bidirectional stream opened by the server"});
    }
    if (transport_.role() == Role::kServer) {
      // RFC 9114 §5.2. The id alone does not tell, as streams of WebTransport sessions go on.
      if (id.value >= refused_from_) {
        return abandon(id, stream, value_of(ErrorCode::kRequestRejected));
      }
      next_request_ = std::max(next_request_, id.value + 4);
    }
  } else if (config_.webtransport && type == k_frame_webtransport_stream) {
    // draft-ietf-webtrans-http3-02 §4.2: only at the start of a stream.
    return fail({ErrorCode::kFrameError, "WEBTRANSPORT_STREAM inside a message"});
  }
  if (!feed(id, stream, stream.frame_header.raw_type(), false) ||
      !feed(id, stream, stream.frame_header.raw_length(), false)) {
    return;
  }
  stream.frame_left = stream.frame_header.length();
  stream.frame_header.reset();
  if (stream.frame_left == 0) return;
  stream.position =
      type == k_frame_data ? RequestStream::Position::kBody : RequestStream::Position::kOtherFrame;
}

std::size_t Session::read_frame_payload(StreamId id, RequestStream& stream, Bytes bytes) {
  const std::size_t limit =
      static_cast<std::size_t>(std::min<std::uint64_t>(stream.frame_left, k_max_slice));
  const std::size_t used = std::min(bytes.size(), limit);
  if (used == 0) return 0;
  stream.frame_left -= used;
  if (stream.frame_left == 0) stream.position = RequestStream::Position::kFrameHeader;
  feed(id, stream, bytes.first(used), false);
  return used;
}

void Session::finish_reading(StreamId id, RequestStream& stream) {
  if (stream.reading_done) return;
  if (!stream.frame_header.empty() || stream.frame_left > 0) {
    return fail({ErrorCode::kFrameError, "stream ends inside a frame"});  // RFC 9114 §7.1
  }
  if (!stream.message_begun) {
    const bool server = transport_.role() == Role::kServer;
    on_message_error(id,
                     value_of(server ? ErrorCode::kRequestIncomplete : ErrorCode::kMessageError));
    return after_framing_read();
  }
  if (!feed(id, stream, {}, true) || stream.reading_done) return;
  stream.reading_done = true;
  events_.push_back(MessageFinished{id});
}

// False when the connection has failed.
bool Session::feed(StreamId id, RequestStream& stream, Bytes bytes, bool fin) {
  const bool body = stream.position == RequestStream::Position::kBody;
  const auto used = framing_.read(id, bytes, fin);
  if (!used) {
    fail(used.error());
    return false;
  }
  if (!body) stream.blocked_bytes += bytes.size() - *used;
  after_framing_read();
  return !closed_;
}

void Session::after_framing_read() {
  for (const StreamId id : std::exchange(broken_messages_, {})) {
    RequestStream* stream = find(id);
    if (!stream) continue;
    const std::uint64_t error = stream->close_error;
    abandon(id, *stream, error);
    if (closed_) return;
    if (stream->message_begun || transport_.role() == Role::kClient) {
      events_.push_back(StreamReset{id, error});
    }
  }
  for (const StreamId id : std::exchange(begun_requests_, {})) {
    if (const auto early = early_priorities_.extract(id)) {
      framing_.set_priority(id, early.mapped());
    }
    const StreamPriority priority = framing_.priority(id);
    if (priority != StreamPriority{}) transport_.set_priority(id, priority);
  }
  for (const StreamId id : std::exchange(unblocked_, {})) {
    if (RequestStream* stream = find(id)) read_request(id, *stream);
    if (closed_) return;
  }
}

// Nobody wants these bytes, but the connection's flow control counts them.
void Session::discard(StreamId id) {
  while (true) {
    const std::size_t size = transport_.peek(id).size();
    if (!transport_.consume(id, size, now_) || size == 0) return;
  }
}

void Session::on_field(StreamId id, const Field& field) {
  RequestStream* stream = find(id);
  if (!stream || stream->fields_too_large) return;
  const std::uint64_t size =
      stream->fields.section_size() + field.name.size() + field.value.size() + 32;
  if (size > config_.max_field_section_size) {
    stream->fields_too_large = true;
    stream->fields = {};
    return on_message_error(id, value_of(ErrorCode::kExcessiveLoad));
  }
  stream->fields.add(field);
}

void Session::on_fields_end(StreamId id, bool trailers) {
  RequestStream* stream = find(id);
  if (!stream || stream->reading_done || stream->fields_too_large) return;
  FieldSection fields = std::exchange(stream->fields, {});
  if (trailers) {
    events_.push_back(TrailersReceived{id, std::move(fields)});
  } else if (transport_.role() == Role::kServer) {
    stream->message_begun = true;
    stream->extended_connect = !fields.find(":protocol").empty();
    begun_requests_.push_back(id);
    events_.push_back(RequestReceived{id, std::move(fields), transport_.received_early(id)});
  } else {
    const bool interim = informational(fields);
    if (interim && ++stream->interim_responses > k_max_interim_responses) {
      return on_message_error(id, value_of(ErrorCode::kExcessiveLoad));
    }
    stream->message_begun = stream->answered = stream->message_begun || !interim;
    events_.push_back(ResponseReceived{id, std::move(fields), interim});
  }
}

void Session::on_unblocked(StreamId id, std::size_t bytes) {
  RequestStream* stream = find(id);
  if (!stream || stream->blocked_bytes == 0) return;
  stream->blocked_bytes -= std::min(bytes, stream->blocked_bytes);
  if (stream->blocked_bytes == 0) unblocked_.push_back(id);
}

void Session::on_message_error(StreamId id, std::uint64_t error) {
  RequestStream* stream = find(id);
  if (!stream || stream->close_error != 0) return;
  stream->close_error = error;
  broken_messages_.push_back(id);
}

Bytes Session::peek_body(StreamId id) const {
  const RequestStream* stream = find(id);
  if (closed_ || !stream || stream->reading_done ||
      stream->position != RequestStream::Position::kBody) {
    return {};
  }
  const Bytes bytes = transport_.peek(id);
  return bytes.first(
      static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), stream->frame_left)));
}

void Session::consume_body(StreamId id, std::size_t count, Time now) {
  now_ = now;
  const Bytes available = peek_body(id);
  RequestStream* stream = find(id);
  const Bytes bytes = available.first(std::min(count, available.size()));
  if (bytes.empty()) return;
  stream->readable_announced = false;
  if (!feed(id, *stream, bytes, false) || stream->reading_done) return;
  stream->frame_left -= bytes.size();
  if (stream->frame_left == 0) stream->position = RequestStream::Position::kFrameHeader;
  const auto result = transport_.consume(id, bytes.size(), now_);
  if (result && result->finished) {
    finish_reading(id, *stream);
  } else if (result && !result->reset) {
    read_request(id, *stream);
  }
  write_pending();
}

std::size_t Session::readable_body(StreamId id) const {
  // Headers of further frames may be among these.
  return peek_body(id).empty() ? 0 : static_cast<std::size_t>(transport_.readable_bytes(id));
}

std::size_t Session::read_body(StreamId id, quic::MutableBytes out, Time now) {
  now_ = now;
  std::size_t size = 0;
  while (size < out.size()) {
    const std::size_t part = read_data_frame(id, out.subspan(size));
    if (part == 0) break;
    size += part;
  }
  RequestStream* stream = find(id);
  if (stream && readable_body(id) == 0) stream->readable_announced = false;
  write_pending();
  return size;
}

// Reads from the DATA frame that the stream is in. The bytes after it have been looked at already
// when this returns.
std::size_t Session::read_data_frame(StreamId id, quic::MutableBytes out) {
  if (peek_body(id).empty()) return 0;
  RequestStream* stream = find(id);
  const auto most =
      static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), stream->frame_left));
  const auto result = transport_.read(id, out.first(most), now_);
  if (!result || result->reset) return 0;
  const bool fed = feed(id, *stream, out.first(result->bytes), false);
  if (!fed || stream->reading_done) return result->bytes;
  stream->frame_left -= result->bytes;
  if (stream->frame_left == 0) stream->position = RequestStream::Position::kFrameHeader;
  if (result->finished) {
    finish_reading(id, *stream);
  } else {
    read_request(id, *stream);
  }
  return result->bytes;
}

}  // namespace sheaf::http3
