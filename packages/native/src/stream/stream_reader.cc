#include "stream/stream_reader.h"

#include <algorithm>

#include "stream/stream_parts.h"

namespace sheaf::quic {

namespace {

std::optional<StreamRefusal> refuse_read(const Stream* stream) {
  if (stream == nullptr) return StreamRefusal::kUnknownStream;
  if (!stream->receives) return StreamRefusal::kWrongDirection;
  if (stream->receive.abandoned()) return StreamRefusal::kFinished;
  return std::nullopt;
}

}  // namespace

Result<ReadResult, StreamRefusal> StreamReader::read(StreamId id, MutableBytes out, Time now) {
  parts_.limits.now = now;
  Stream* stream = parts_.open.find(id);
  if (const auto refusal = refuse_read(stream)) return *refusal;
  ReadResult result;
  result.bytes = stream->receive.copy_to(out);
  if (result.bytes > 0) parts_.progress.consume(*stream, result.bytes);
  parts_.progress.finish_read(*stream, result);
  return result;
}

std::uint64_t StreamReader::readable_bytes(StreamId id) const {
  const Stream* stream = parts_.open.find(id);
  return refuse_read(stream) ? 0 : stream->receive.readable_bytes();
}

Bytes StreamReader::peek(StreamId id) const {
  const Stream* stream = parts_.open.find(id);
  return refuse_read(stream) ? Bytes() : stream->receive.peek();
}

Result<ReadResult, StreamRefusal> StreamReader::consume(StreamId id, std::size_t bytes, Time now) {
  parts_.limits.now = now;
  Stream* stream = parts_.open.find(id);
  if (const auto refusal = refuse_read(stream)) return *refusal;
  ReadResult result;
  result.bytes = std::min<std::uint64_t>(bytes, stream->receive.readable_bytes());
  if (result.bytes > 0) parts_.progress.consume(*stream, result.bytes);
  parts_.progress.finish_read(*stream, result);
  return result;
}

Status<StreamRefusal> StreamReader::stop_sending(StreamId id, std::uint64_t error) {
  Stream* stream = parts_.open.find(id);
  if (stream == nullptr) return StreamRefusal::kUnknownStream;
  if (!stream->receives) return StreamRefusal::kWrongDirection;
  if (stream->receive.abandon(parts_.limits.receive_context())) {
    stream->stop_sending_error = error;
    parts_.lanes.request_control(*stream, Stream::k_stop_sending);
  }
  parts_.lanes.cancel_control(*stream, Stream::k_max_stream_data);
  parts_.limits.announce_receive_window();
  parts_.open.close_if_finished(*stream);
  return {};
}

bool StreamReader::unread() const {
  bool found = false;
  parts_.open.for_each(
      [&](const Stream& stream) { found |= stream.receives && stream.receive.readable(); });
  return found;
}

}  // namespace sheaf::quic
