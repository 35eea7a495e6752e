#include "http3/frame_type.h"
#include "http3/session.h"

// Our messages: from fields and chunks to the transport.

namespace sheaf::http3 {
namespace {

bool is_interim(const FieldSection& fields) { return fields.find(":status").starts_with('1'); }

}  // namespace

quic::Status<Refusal> Session::check(const FieldSection& fields) const {
  if (closed_) return Refusal::kConnectionClosed;
  if (!framing_.bound()) return Refusal::kNotReady;
  if (peer_settings_ && fields.section_size() > peer_settings_->max_field_section_size) {
    return Refusal::kFieldsTooLarge;
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!MessageFraming::valid(fields[i])) return Refusal::kInvalidField;
  }
  return {};
}

quic::Result<StreamId, Refusal> Session::submit_request(const FieldSection& fields, bool has_body) {
  if (transport_.role() != Role::kClient) return Refusal::kNotSupported;
  if (peer_going_away_) return Refusal::kGoingAway;
  if (auto status = check(fields); !status) return status.error();
  if (!fields.find(":protocol").empty()) {
    // RFC 9220 §3. Servers of older drafts take WebTransport without saying that they take this.
    if (!peer_settings_) return Refusal::kNotReady;
    if (!peer_settings_->enable_connect_protocol && !peer_settings_->webtransport.any()) {
      return Refusal::kNotSupported;
    }
  }
  const auto id = transport_.open_stream(Directionality::kBidirectional);
  if (!id) return Refusal::kStreamLimit;
  if (auto status = framing_.submit_request(*id, fields, has_body); !status) {
    transport_.reset_stream(*id, value_of(ErrorCode::kInternalError));
    transport_.stop_sending(*id, value_of(ErrorCode::kInternalError));
    return status.error();
  }
  RequestStream& stream = requests_[*id];
  stream.writing = has_body ? RequestStream::Writing::kBody : RequestStream::Writing::kEnded;
  stream.own_request = true;
  stream.extended_connect = !fields.find(":protocol").empty();
  if (const std::string_view text = fields.find("priority"); !text.empty()) {
    const auto priority = MessageFraming::parse_priority(
        {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    if (priority) transport_.set_priority(*id, *priority);
  }
  write_pending();
  return *id;
}

quic::Status<Refusal> Session::submit_informational(StreamId id, const FieldSection& fields) {
  if (transport_.role() != Role::kServer) return Refusal::kNotSupported;
  if (auto status = check(fields); !status) return status.error();
  RequestStream* stream = find(id);
  if (!stream || !stream->message_begun) return Refusal::kUnknownStream;
  if (stream->writing != RequestStream::Writing::kNotBegun) return Refusal::kWrongState;
  // RFC 9114 §4.5: there is no 101.
  if (!is_interim(fields) || fields.find(":status") == "101") return Refusal::kInvalidField;
  if (auto status = framing_.submit_informational(id, fields); !status) return status;
  write_pending();
  return {};
}

quic::Status<Refusal> Session::submit_response(StreamId id, const FieldSection& fields,
                                               bool has_body) {
  if (transport_.role() != Role::kServer) return Refusal::kNotSupported;
  if (auto status = check(fields); !status) return status.error();
  RequestStream* stream = find(id);
  if (!stream || !stream->message_begun) return Refusal::kUnknownStream;
  if (stream->writing != RequestStream::Writing::kNotBegun) return Refusal::kWrongState;
  if (is_interim(fields)) return Refusal::kInvalidField;
  if (auto status = framing_.submit_response(id, fields, has_body); !status) return status;
  stream->answered = true;
  stream->writing = has_body ? RequestStream::Writing::kBody : RequestStream::Writing::kEnded;
  // Frame headers come on top: schedulers do not mind.
  if (const auto length = content_length(fields)) transport_.set_expected_bytes(id, *length);
  write_pending();
  return {};
}

quic::Result<bool, Refusal> Session::write_body(StreamId id, SendChunk chunk, bool fin) {
  if (closed_) return Refusal::kConnectionClosed;
  RequestStream* stream = find(id);
  if (!stream) return Refusal::kUnknownStream;
  if (stream->writing != RequestStream::Writing::kBody) return Refusal::kWrongState;
  if (!chunk.bytes().empty()) stream->chunks.push_back(std::move(chunk));
  if (fin) stream->writing = RequestStream::Writing::kEnded;
  framing_.resume(id);
  write_pending();
  stream->wants_writable = stream->transport_full || !stream->chunks.empty();
  return !stream->wants_writable;
}

std::size_t Session::reserve_body(StreamId id) {
  const std::uint64_t size = transport_.reserve(id);
  RequestStream* stream = find(id);
  if (stream && size == 0) stream->wants_writable = true;
  return size;
}

quic::Status<Refusal> Session::submit_trailers(StreamId id, const FieldSection& fields) {
  if (auto status = check(fields); !status) return status.error();
  RequestStream* stream = find(id);
  if (!stream) return Refusal::kUnknownStream;
  if (stream->writing != RequestStream::Writing::kBody) return Refusal::kWrongState;
  // RFC 9114 §4.3.
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name.starts_with(':')) return Refusal::kInvalidField;
  }
  if (auto status = framing_.submit_trailers(id, fields); !status) return status;
  stream->writing = RequestStream::Writing::kEnded;
  framing_.resume(id);
  write_pending();
  return {};
}

quic::Status<Refusal> Session::request_priority(StreamId id, const StreamPriority& priority) {
  if (closed_) return Refusal::kConnectionClosed;
  if (transport_.role() != Role::kClient) return Refusal::kNotSupported;
  if (!find(id)) return Refusal::kUnknownStream;
  const std::string text =
      "u=" + std::to_string(priority.urgency) + (priority.incremental ? ", i" : "");
  std::vector<std::uint8_t> payload(8 + text.size());
  quic::Writer writer(payload);
  writer.write_varint(id.value);
  writer.write_bytes({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  write_control_frame(k_frame_priority_update, writer.written());
  transport_.set_priority(id, priority);
  return {};
}

std::size_t Session::next_body(StreamId id, std::span<Bytes> chunks, bool& end) {
  RequestStream* stream = find(id);
  if (!stream) return 0;
  std::size_t count = 0;
  while (stream->chunks_framed < stream->chunks.size() && count < chunks.size()) {
    chunks[count++] = stream->chunks[stream->chunks_framed++].bytes();
  }
  end = stream->writing == RequestStream::Writing::kEnded &&
        stream->chunks_framed == stream->chunks.size();
  return count;
}

// Hands everything on that the transport has room for. The order among streams is the transport's
// business: it decides packet by packet.
void Session::write_pending() {
  MessageFraming::Output output;
  while (!closed_) {
    const auto more = framing_.poll_output(output);
    if (!more) return fail(more.error());
    if (!*more) return;
    write_output(output);
    framing_.on_written(output);
  }
}

// Body chunks go on as they are; frame headers and field sections are nghttp3's and are copied.
void Session::write_output(const MessageFraming::Output& output) {
  RequestStream* stream = find(output.stream);
  if (!stream && config_.requests_only) return;  // QPACK's streams, which a backend has not
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

void Session::write_part(StreamId id, SendChunk chunk, bool fin) {
  const auto accepted = transport_.write(id, std::move(chunk), fin);
  if (!accepted) {
    framing_.shut_writing(id);  // reset or refused meanwhile; its event follows
  } else if (!*accepted) {
    framing_.block(id);
    if (RequestStream* stream = find(id)) stream->transport_full = true;
  }
}

void Session::on_writable(StreamId id) {
  framing_.unblock(id);
  RequestStream* stream = find(id);
  if (!stream) return write_pending();
  stream->transport_full = false;
  write_pending();
  if (stream->wants_writable && !stream->transport_full && stream->chunks.empty()) {
    stream->wants_writable = false;
    events_.push_back(BodyWritable{id});
  }
}

}  // namespace sheaf::http3
