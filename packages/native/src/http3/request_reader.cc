#include "http3/request_reader.h"

#include <algorithm>
#include <utility>

#include "http3/frame_type.h"

namespace sheaf::http3 {
namespace {

// Maximum bytes given to QPACK at once, which may keep them while it waits for its table.
constexpr std::size_t k_max_slice = 4096;

// Maximum number of interim responses. RFC 9110 §15.2 sets no limit, but nobody needs more than a
// few.
constexpr unsigned k_max_interim_responses = 64;

// Maximum number of priorities kept for requests that have not arrived: enough for a page.
constexpr std::size_t k_max_early_priorities = 256;

}  // namespace

void RequestReader::read(StreamId id, RequestStream& stream) {
  if (!stream.reading_done && !admitted(id, stream)) return;
  while (!parts_.closed && stream.blocked_bytes == 0) {
    if (stream.reading_done) return parts_.discard(id);
    std::size_t used = std::exchange(stream.held_bytes, 0);
    bool starved = false;
    if (used == 0) {
      const Bytes bytes = parts_.transport.peek(id);
      starved = bytes.empty();
      if (!starved && stream.position == RequestStream::Position::kBody) {
        if (!std::exchange(stream.readable_announced, true)) {
          parts_.events.push_back(BodyReadable{id});
        }
        return;
      }
      used = stream.position == RequestStream::Position::kFrameHeader
                 ? read_frame_header(id, stream, bytes)
                 : read_frame_payload(id, stream, bytes);
      if (parts_.closed || stream.reading_done) return;
      if (stream.blocked_bytes > 0) {
        stream.held_bytes = used;
        return;
      }
    }
    const auto result = parts_.transport.consume(id, used, parts_.now);
    if (!result || result->reset) return;  // a separate event reports the reset
    if (stream.position == RequestStream::Position::kHandedOver) {
      const StreamId session{stream.frame_header.length()};
      parts_.requests.erase(id);
      return parts_.hand_over(id, session, result->finished);
    }
    if (result->finished) return finish(id, stream);
    if (starved && stream.lost) return on_reset(id, quic::k_backend_lost);
    if (starved) return;
  }
}

void RequestReader::on_reset(StreamId id, std::uint64_t error) {
  RequestStream* stream = parts_.find(id);
  if (!stream || !parts_.count_cancellation(*stream) || stream->reading_done) return;
  if (parts_.transport.role() == Role::kServer && !stream->message_begun) {
    // The application does not know this request, so this side must end the direction of the
    // response.
    return parts_.abandon(id, *stream, value_of(ErrorCode::kRequestCancelled));
  }
  stream->reading_done = true;
  stream->close_error = error;
  if (auto status = parts_.framing.shut_reading(id); !status) return parts_.fail(status.error());
  parts_.events.push_back(StreamReset{id, error});
}

bool RequestReader::admitted(StreamId id, RequestStream& stream) {
  const auto answer = parts_.admission.admit(id, stream.place);
  if (answer == RequestAdmission::Answer::kReject) {
    parts_.abandon(id, stream, value_of(ErrorCode::kRequestRejected));
  }
  return answer == RequestAdmission::Answer::kRead;
}

std::size_t RequestReader::read_frame_header(StreamId id, RequestStream& stream, Bytes bytes) {
  const std::size_t used = stream.frame_header.append(bytes);
  if (used > 0 && stream.frame_header.complete()) begin_frame(id, stream);
  return used;
}

void RequestReader::begin_frame(StreamId id, RequestStream& stream) {
  const std::uint64_t type = stream.frame_header.type();
  if (std::exchange(stream.first_frame, false)) {
    if (parts_.config.webtransport && type == k_frame_webtransport_stream) {
      stream.position = RequestStream::Position::kHandedOver;
      return;
    }
    if (id.initiator() == Role::kServer) {
      return parts_.fail(
          {ErrorCode::kStreamCreationError, "bidirectional stream opened by the server"});
    }
    if (parts_.transport.role() == Role::kServer) {
      // RFC 9114 §5.2. The id is checked only here, because streams of WebTransport sessions
      // continue.
      if (id.value >= refused_from_) {
        return parts_.abandon(id, stream, value_of(ErrorCode::kRequestRejected));
      }
      next_request_ = std::max(next_request_, id.value + 4);
    }
  } else if (parts_.config.webtransport && type == k_frame_webtransport_stream) {
    // draft-ietf-webtrans-http3-02 §4.2: this frame must be at the start of a stream.
    return parts_.fail({ErrorCode::kFrameError, "WEBTRANSPORT_STREAM inside a message"});
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

std::size_t RequestReader::read_frame_payload(StreamId id, RequestStream& stream, Bytes bytes) {
  const std::size_t limit =
      static_cast<std::size_t>(std::min<std::uint64_t>(stream.frame_left, k_max_slice));
  const std::size_t used = std::min(bytes.size(), limit);
  if (used == 0) return 0;
  stream.frame_left -= used;
  if (stream.frame_left == 0) stream.position = RequestStream::Position::kFrameHeader;
  feed(id, stream, bytes.first(used), false);
  return used;
}

void RequestReader::finish(StreamId id, RequestStream& stream) {
  if (stream.reading_done) return;
  if (!stream.frame_header.empty() || stream.frame_left > 0) {
    return parts_.fail({ErrorCode::kFrameError, "stream ends inside a frame"});  // RFC 9114 §7.1
  }
  if (!stream.message_begun) {
    const bool server = parts_.transport.role() == Role::kServer;
    on_message_error(id,
                     value_of(server ? ErrorCode::kRequestIncomplete : ErrorCode::kMessageError));
    return after_framing_read();
  }
  if (!feed(id, stream, {}, true) || stream.reading_done) return;
  stream.reading_done = true;
  parts_.events.push_back(MessageFinished{id});
}

bool RequestReader::feed(StreamId id, RequestStream& stream, Bytes bytes, bool fin) {
  const bool body = stream.position == RequestStream::Position::kBody;
  const auto used = parts_.framing.read(id, bytes, fin);
  if (!used) {
    parts_.fail(used.error());
    return false;
  }
  if (!body) stream.blocked_bytes += bytes.size() - *used;
  after_framing_read();
  return !parts_.closed;
}

void RequestReader::after_framing_read() {
  for (const StreamId id : std::exchange(broken_messages_, {})) {
    RequestStream* stream = parts_.find(id);
    if (!stream) continue;
    const std::uint64_t error = stream->close_error;
    parts_.abandon(id, *stream, error);
    if (parts_.closed) return;
    if (stream->message_begun || parts_.transport.role() == Role::kClient) {
      parts_.events.push_back(StreamReset{id, error});
    }
  }
  for (const StreamId id : std::exchange(begun_requests_, {})) {
    if (const auto early = early_priorities_.extract(id)) {
      parts_.framing.set_priority(id, early.mapped());
    }
    const StreamPriority priority = parts_.framing.priority(id);
    if (priority != StreamPriority{}) parts_.transport.set_priority(id, priority);
  }
  for (const StreamId id : std::exchange(unblocked_, {})) {
    if (RequestStream* stream = parts_.find(id)) read(id, *stream);
    if (parts_.closed) return;
  }
}

void RequestReader::on_field(StreamId id, const Field& field) {
  RequestStream* stream = parts_.find(id);
  if (!stream || stream->fields_too_large) return;
  const std::uint64_t size =
      stream->fields.section_size() + field.name.size() + field.value.size() + 32;
  if (size > parts_.config.max_field_section_size) {
    stream->fields_too_large = true;
    stream->fields = {};
    return on_message_error(id, value_of(ErrorCode::kExcessiveLoad));
  }
  stream->fields.add(field);
}

void RequestReader::on_fields_end(StreamId id, bool trailers) {
  RequestStream* stream = parts_.find(id);
  if (!stream || stream->reading_done || stream->fields_too_large) return;
  FieldSection fields = std::exchange(stream->fields, {});
  if (trailers) {
    parts_.events.push_back(TrailersReceived{id, std::move(fields)});
  } else if (parts_.transport.role() == Role::kServer) {
    stream->message_begun = true;
    stream->extended_connect = !fields.find(":protocol").empty();
    begun_requests_.push_back(id);
    parts_.events.push_back(
        RequestReceived{id, std::move(fields), parts_.transport.received_early(id)});
  } else {
    const bool interim = is_interim(fields);
    if (interim && ++stream->interim_responses > k_max_interim_responses) {
      return on_message_error(id, value_of(ErrorCode::kExcessiveLoad));
    }
    stream->message_begun = stream->answered = stream->message_begun || !interim;
    parts_.events.push_back(ResponseReceived{id, std::move(fields), interim});
  }
}

void RequestReader::on_unblocked(StreamId id, std::size_t bytes) {
  RequestStream* stream = parts_.find(id);
  if (!stream || stream->blocked_bytes == 0) return;
  stream->blocked_bytes -= std::min(bytes, stream->blocked_bytes);
  if (stream->blocked_bytes == 0) unblocked_.push_back(id);
}

void RequestReader::on_message_error(StreamId id, std::uint64_t error) {
  RequestStream* stream = parts_.find(id);
  if (!stream || stream->close_error != 0) return;
  stream->close_error = error;
  broken_messages_.push_back(id);
}

Bytes RequestReader::peek_body(StreamId id) const {
  const RequestStream* stream = parts_.find(id);
  if (parts_.closed || !stream || stream->reading_done ||
      stream->position != RequestStream::Position::kBody) {
    return {};
  }
  const Bytes bytes = parts_.transport.peek(id);
  return bytes.first(
      static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), stream->frame_left)));
}

void RequestReader::consume_body(StreamId id, std::size_t count) {
  const Bytes available = peek_body(id);
  RequestStream* stream = parts_.find(id);
  const Bytes bytes = available.first(std::min(count, available.size()));
  if (bytes.empty()) return;
  stream->readable_announced = false;
  if (!feed(id, *stream, bytes, false) || stream->reading_done) return;
  stream->frame_left -= bytes.size();
  if (stream->frame_left == 0) stream->position = RequestStream::Position::kFrameHeader;
  const auto result = parts_.transport.consume(id, bytes.size(), parts_.now);
  if (result && result->finished) {
    finish(id, *stream);
  } else if (result && !result->reset) {
    read(id, *stream);
  }
}

std::size_t RequestReader::readable_body(StreamId id) const {
  // These bytes may include headers of further frames.
  return peek_body(id).empty() ? 0 : static_cast<std::size_t>(parts_.transport.readable_bytes(id));
}

std::size_t RequestReader::read_body(StreamId id, quic::MutableBytes out) {
  std::size_t size = 0;
  while (size < out.size()) {
    const std::size_t part = read_data_frame(id, out.subspan(size));
    if (part == 0) break;
    size += part;
  }
  RequestStream* stream = parts_.find(id);
  if (stream && readable_body(id) == 0) stream->readable_announced = false;
  return size;
}

// Reads from the present DATA frame of the stream. When this returns, the bytes after it have been
// processed.
std::size_t RequestReader::read_data_frame(StreamId id, quic::MutableBytes out) {
  if (peek_body(id).empty()) return 0;
  RequestStream* stream = parts_.find(id);
  const auto most =
      static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), stream->frame_left));
  const auto result = parts_.transport.read(id, out.first(most), parts_.now);
  if (!result || result->reset) return 0;
  const bool fed = feed(id, *stream, out.first(result->bytes), false);
  if (!fed || stream->reading_done) return result->bytes;
  stream->frame_left -= result->bytes;
  if (stream->frame_left == 0) stream->position = RequestStream::Position::kFrameHeader;
  if (result->finished) {
    finish(id, *stream);
  } else {
    read(id, *stream);
  }
  return result->bytes;
}

void RequestReader::prioritize(StreamId id, const StreamPriority& priority) {
  if (const RequestStream* stream = parts_.find(id); stream && stream->message_begun) {
    parts_.framing.set_priority(id, priority);
    parts_.transport.set_priority(id, priority);
  } else if (id.value >= next_request_ || stream) {
    if (early_priorities_.size() < k_max_early_priorities || early_priorities_.contains(id)) {
      early_priorities_[id] = priority;
    }
  }
}

std::uint64_t RequestReader::refuse_rest() {
  refused_from_ = parts_.transport.role() == Role::kServer ? next_request_ : 0;
  return refused_from_;
}

}  // namespace sheaf::http3
