#include "http3/request_writer.h"

#include "http3/encoded_head.h"

namespace sheaf::http3 {

quic::Status<Refusal> RequestWriter::check(const FieldSection& fields) const {
  if (parts_.closed) return Refusal::kConnectionClosed;
  if (!parts_.framing.bound()) return Refusal::kNotReady;
  if (parts_.peer_settings &&
      fields.section_size() > parts_.peer_settings->max_field_section_size) {
    return Refusal::kFieldsTooLarge;
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!MessageFraming::valid(fields[i])) return Refusal::kInvalidField;
  }
  return {};
}

quic::Result<StreamId, Refusal> RequestWriter::submit_request(const FieldSection& fields,
                                                              bool has_body) {
  if (parts_.transport.role() != Role::kClient) return Refusal::kNotSupported;
  if (requests_stopped_) return Refusal::kGoingAway;
  if (auto status = check(fields); !status) return status.error();
  if (!fields.find(":protocol").empty()) {
    // RFC 9220 §3. Servers of older drafts support WebTransport without announcing this setting.
    if (!parts_.peer_settings) return Refusal::kNotReady;
    if (!parts_.peer_settings->enable_connect_protocol &&
        !parts_.peer_settings->webtransport.any()) {
      return Refusal::kNotSupported;
    }
  }
  const auto id = parts_.transport.open_stream(Directionality::kBidirectional);
  if (!id) return Refusal::kStreamLimit;
  if (auto status = parts_.framing.submit_request(*id, fields, has_body); !status) {
    parts_.transport.reset_stream(*id, value_of(ErrorCode::kInternalError));
    parts_.transport.stop_sending(*id, value_of(ErrorCode::kInternalError));
    return status.error();
  }
  RequestStream& stream = parts_.requests[*id];
  stream.writing = has_body ? RequestStream::Writing::kBody : RequestStream::Writing::kEnded;
  stream.own_request = true;
  stream.extended_connect = !fields.find(":protocol").empty();
  if (const std::string_view text = fields.find("priority"); !text.empty()) {
    const auto priority = MessageFraming::parse_priority(
        {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    if (priority) parts_.transport.set_priority(*id, *priority);
  }
  write_pending();
  return *id;
}

quic::Status<Refusal> RequestWriter::submit_informational(StreamId id, const FieldSection& fields) {
  if (parts_.transport.role() != Role::kServer) return Refusal::kNotSupported;
  if (auto status = check(fields); !status) return status.error();
  RequestStream* stream = parts_.find(id);
  if (!stream || !stream->message_begun) return Refusal::kUnknownStream;
  if (stream->writing != RequestStream::Writing::kNotBegun) return Refusal::kWrongState;
  // The other node may have begun with the final response. Nobody needs an interim one.
  if (parts_.transport.begun_elsewhere(id)) return {};
  // RFC 9114 §4.5: status 101 does not exist.
  if (!is_interim(fields) || fields.find(":status") == "101") return Refusal::kInvalidField;
  if (auto status = parts_.framing.submit_informational(id, fields); !status) return status;
  write_pending();
  return {};
}

quic::Status<Refusal> RequestWriter::submit_response(StreamId id, const FieldSection& fields,
                                                     bool has_body) {
  if (parts_.transport.role() != Role::kServer) return Refusal::kNotSupported;
  if (auto status = check(fields); !status) return status.error();
  RequestStream* stream = parts_.find(id);
  if (!stream || !stream->message_begun) return Refusal::kUnknownStream;
  if (stream->writing != RequestStream::Writing::kNotBegun) return Refusal::kWrongState;
  if (is_interim(fields)) return Refusal::kInvalidField;
  if (parts_.transport.begun_elsewhere(id)) return Refusal::kWrongState;
  if (auto status = parts_.framing.submit_response(id, fields, has_body); !status) return status;
  stream->answered = true;
  stream->writing = has_body ? RequestStream::Writing::kBody : RequestStream::Writing::kEnded;
  // Frame headers are not counted; schedulers do not need that precision.
  if (const auto length = content_length(fields)) parts_.transport.set_expected_bytes(id, *length);
  write_pending();
  return {};
}

quic::Result<bool, Refusal> RequestWriter::write_body(StreamId id, SendChunk chunk, bool fin) {
  if (parts_.closed) return Refusal::kConnectionClosed;
  RequestStream* stream = parts_.find(id);
  if (!stream) return Refusal::kUnknownStream;
  if (stream->writing != RequestStream::Writing::kBody) return Refusal::kWrongState;
  if (!chunk.bytes().empty()) stream->chunks.push_back(std::move(chunk));
  if (fin) stream->writing = RequestStream::Writing::kEnded;
  parts_.framing.resume(id);
  write_pending();
  stream->wants_writable = stream->transport_full || !stream->chunks.empty();
  return !stream->wants_writable;
}

std::size_t RequestWriter::reserve_body(StreamId id) {
  const std::uint64_t size = parts_.transport.reserve(id);
  RequestStream* stream = parts_.find(id);
  if (stream && size == 0) stream->wants_writable = true;
  return size;
}

quic::Status<Refusal> RequestWriter::submit_trailers(StreamId id, const FieldSection& fields) {
  if (auto status = check(fields); !status) return status.error();
  RequestStream* stream = parts_.find(id);
  if (!stream) return Refusal::kUnknownStream;
  if (stream->writing != RequestStream::Writing::kBody) return Refusal::kWrongState;
  // RFC 9114 §4.3: trailers have no pseudo-header fields.
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name.starts_with(':')) return Refusal::kInvalidField;
  }
  if (auto status = parts_.framing.submit_trailers(id, fields); !status) return status;
  stream->writing = RequestStream::Writing::kEnded;
  parts_.framing.resume(id);
  write_pending();
  return {};
}

quic::Status<Refusal> RequestWriter::hand_off(StreamId id, Bytes head,
                                              std::optional<std::uint64_t> body_length,
                                              std::uint64_t begun) {
  if (parts_.transport.role() != Role::kServer) return Refusal::kNotSupported;
  if (parts_.closed) return Refusal::kConnectionClosed;
  RequestStream* stream = parts_.find(id);
  if (!stream || !stream->message_begun) return Refusal::kUnknownStream;
  if (stream->writing != RequestStream::Writing::kNotBegun) return Refusal::kWrongState;
  // An interim response waits for room.
  if (stream->transport_full) return Refusal::kNotReady;
  if (head.size() > k_max_encoded_head) return Refusal::kFieldsTooLarge;
  if (!refers_to_no_table(head)) return Refusal::kInvalidField;
  // nghttp3 knows only the request of such a stream.
  parts_.framing.shut_writing(id);
  stream->answered = true;
  const bool ends = body_length == 0u;
  stream->writing = ends ? RequestStream::Writing::kEnded : RequestStream::Writing::kElsewhere;
  const std::vector<std::uint8_t> framed = frame_head(head, body_length);
  const std::uint64_t end = framed.size() + body_length.value_or(0);
  if (body_length) parts_.transport.set_expected_bytes(id, end);
  if (begun == 0) {
    write_part(id, SendChunk::copy_of(framed), ends);
    return {};
  }
  stream->padded = begun >= end;
  return replace_begun(id, framed, end, begun);
}

// Whoever goes on with the response sends the same bytes (RFC 9000 §2.2).
quic::Status<Refusal> RequestWriter::replace_begun(StreamId id, Bytes framed, std::uint64_t end,
                                                   std::uint64_t begun) {
  bool taken = bool(parts_.transport.replace(id, 0, SendChunk::copy_of(framed), false));
  if (taken && begun >= end) {
    const auto padding = padding_frame(begun - end);
    taken = bool(parts_.transport.replace(id, end, SendChunk::copy_of(padding), true));
  }
  if (!taken) return Refusal::kUnknownStream;
  return {};
}

quic::Result<bool, Refusal> RequestWriter::write_instead(StreamId id, std::uint64_t offset,
                                                         SendChunk chunk, bool fin) {
  if (parts_.closed) return Refusal::kConnectionClosed;
  RequestStream* stream = parts_.find(id);
  if (!stream) return Refusal::kUnknownStream;
  if (stream->writing != RequestStream::Writing::kElsewhere) return Refusal::kWrongState;
  const bool ends = fin && !stream->padded;
  const auto accepted = parts_.transport.replace(id, offset, std::move(chunk), ends);
  // It was reset, or the other node has ended it.
  if (!accepted) return Refusal::kWrongState;
  if (fin) stream->writing = RequestStream::Writing::kEnded;
  stream->transport_full = stream->wants_writable = !*accepted;
  return *accepted;
}

std::size_t RequestWriter::next_body(StreamId id, std::span<Bytes> chunks, bool& end) {
  RequestStream* stream = parts_.find(id);
  if (!stream) return 0;
  std::size_t count = 0;
  while (stream->chunks_framed < stream->chunks.size() && count < chunks.size()) {
    chunks[count++] = stream->chunks[stream->chunks_framed++].bytes();
  }
  end = stream->writing == RequestStream::Writing::kEnded &&
        stream->chunks_framed == stream->chunks.size();
  return count;
}

// The transport decides about the order of streams, packet by packet.
void RequestWriter::write_pending() {
  MessageFraming::Output output;
  while (!parts_.closed) {
    const auto more = parts_.framing.poll_output(output);
    if (!more) return parts_.fail(more.error());
    if (!*more) return;
    write_output(output);
    parts_.framing.on_written(output);
  }
}

// Body chunks are passed on without copying. Frame headers and field sections belong to nghttp3 and
// are copied.
void RequestWriter::write_output(const MessageFraming::Output& output) {
  RequestStream* stream = parts_.find(output.stream);
  if (!stream && parts_.config.requests_only)
    return;  // a stream of QPACK, which a backend does
             // not have
  scratch_.clear();
  for (std::size_t i = 0; i < output.part_count; ++i) {
    const Bytes part = output.parts[i];
    const bool last = i + 1 == output.part_count;
    const bool chunk =
        stream && stream->chunks_framed > 0 && stream->chunks.front().bytes().data() == part.data();
    if (!chunk) {
      scratch_.insert(scratch_.end(), part.begin(), part.end());
      continue;
    }
    if (!scratch_.empty()) write_part(output.stream, SendChunk::copy_of(scratch_), false);
    scratch_.clear();
    SendChunk body = std::move(stream->chunks.front());
    stream->chunks.pop_front();
    --stream->chunks_framed;
    write_part(output.stream, std::move(body), last && output.fin);
    if (last) return;
  }
  write_part(output.stream, SendChunk::copy_of(scratch_), output.fin);
}

void RequestWriter::write_part(StreamId id, SendChunk chunk, bool fin) {
  const auto accepted = parts_.transport.write(id, std::move(chunk), fin);
  if (!accepted) {
    parts_.framing.shut_writing(id);  // the stream was reset or refused in the meantime; its event
                                      // follows
  } else if (!*accepted) {
    parts_.framing.block(id);
    if (RequestStream* stream = parts_.find(id)) stream->transport_full = true;
  }
}

void RequestWriter::on_writable(StreamId id) {
  parts_.framing.unblock(id);
  RequestStream* stream = parts_.find(id);
  if (!stream) return write_pending();
  stream->transport_full = false;
  write_pending();
  if (stream->wants_writable && !stream->transport_full && stream->chunks.empty()) {
    stream->wants_writable = false;
    parts_.events.push_back(BodyWritable{id});
  }
}

}  // namespace sheaf::http3
