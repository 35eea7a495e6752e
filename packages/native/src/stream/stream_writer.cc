#include "stream/stream_writer.h"

#include "stream/stream_parts.h"

namespace sheaf::quic {

Result<StreamId, StreamRefusal> StreamWriter::open(Directionality directionality) {
  ConnectionLimits& limits = parts_.limits;
  SendLimit& limit = limits.local_streams(directionality);
  if (limit.available() == 0) {
    limits.note_streams_blocked(directionality);
    return StreamRefusal::kStreamLimit;
  }
  const StreamId id = StreamId::make(limits.role, directionality, limit.used());
  limit.consume(1);
  parts_.open.create(id, parts_.lanes.any_path());
  return id;
}

std::uint64_t StreamWriter::streams_available(Directionality directionality) const {
  return parts_.limits.local_streams(directionality).available();
}

Result<bool, StreamRefusal> StreamWriter::write(StreamId id, SendChunk chunk, bool fin) {
  Stream* stream = parts_.open.find(id);
  if (stream == nullptr) return StreamRefusal::kUnknownStream;
  if (!stream->sends) return StreamRefusal::kWrongDirection;
  if (!stream->send.writable()) return StreamRefusal::kFinished;
  stream->send.write(std::move(chunk), fin);
  return on_written(*stream, fin);
}

Result<bool, StreamRefusal> StreamWriter::replace(StreamId id, std::uint64_t offset,
                                                  SendChunk chunk, bool fin) {
  Stream* stream = parts_.open.find(id);
  if (stream == nullptr) return StreamRefusal::kUnknownStream;
  if (!stream->sends) return StreamRefusal::kWrongDirection;
  const std::uint64_t written = stream->send.buffer().end();
  const std::uint64_t end = offset + chunk.bytes().size();
  // The other node may have ended the stream at the same offset.
  const bool ends = fin && (stream->send.writable() || end != written);
  if (stream->send.was_reset() || offset > written ||
      ((ends || end > written) && !stream->send.writable())) {
    return StreamRefusal::kFinished;
  }
  stream->send.replace(offset, std::move(chunk), ends);
  return on_written(*stream, fin);
}

// Returns whether the buffer has room for more.
bool StreamWriter::on_written(Stream& stream, bool fin) {
  const bool known = stream.scheduled;
  stream.reserved = 0;
  parts_.room.count(stream);
  stream.overfilled = !parts_.room.has_room(stream);
  if (stream.overfilled && !fin) parts_.room.await(stream);
  parts_.lanes.refresh(stream);
  if (known) stream.lane->schedule(stream);
  if (parts_.limits.send.available() == 0) parts_.lanes.note_connection_blocked();
  return !stream.overfilled;
}

Status<StreamRefusal> StreamWriter::reset(StreamId id, std::uint64_t error) {
  Stream* stream = parts_.open.find(id);
  if (stream == nullptr) return StreamRefusal::kUnknownStream;
  if (!stream->sends) return StreamRefusal::kWrongDirection;
  const bool permit_reliable = parts_.limits.peer && parts_.limits.peer->reset_stream_at;
  if (stream->send.reset(error, permit_reliable)) parts_.lanes.on_reset(*stream);
  return {};
}

void StreamWriter::keep_reliable(StreamId id, std::uint64_t bytes) {
  Stream* stream = parts_.open.find(id);
  if (stream != nullptr && stream->sends) stream->send.keep_reliable(bytes);
}

std::uint64_t StreamWriter::reserve(StreamId id) {
  Stream* stream = parts_.open.find(id);
  // `write` reports the reason.
  if (stream == nullptr || !stream->sends || !stream->send.writable()) {
    return SendBudget::k_small_chunk;
  }
  return parts_.room.reserve(*stream);
}

std::uint64_t StreamWriter::unsent_bytes(StreamId id) const {
  const Stream* stream = parts_.open.find(id);
  return stream != nullptr && stream->sends ? stream->send.unsent_bytes() : 0;
}

// --- order -----------------------------------------------------------------------------------

void StreamWriter::set_priority(StreamId id, const StreamPriority& priority) {
  Stream* stream = parts_.open.find(id);
  if (stream == nullptr) return;
  const StreamPriority before = stream->priority;
  const bool changes_queue = stream->scheduled && priority.ahead != before.ahead;
  if (changes_queue) stream->lane->unschedule(*stream);
  stream->priority = priority;
  if (priority.dependency.node == Dependency::k_root) {
    stream->priority.dependency = before.dependency;
  }
  stream->lane->scheduler->set_priority(id, stream->priority);
  if (changes_queue) stream->lane->schedule(*stream);
}

void StreamWriter::set_dependency(StreamId id, const Dependency& dependency) {
  Stream* stream = parts_.open.find(id);
  if (stream == nullptr) return;
  stream->priority.dependency = dependency;
  stream->lane->scheduler->set_priority(id, stream->priority);
}

void StreamWriter::set_group(const Dependency& group) {
  parts_.lanes.any_path().scheduler->set_group(group);
}

void StreamWriter::set_expected_bytes(StreamId id, std::uint64_t total) {
  Stream* stream = parts_.open.find(id);
  if (stream == nullptr || !stream->sends) return;
  stream->expected_bytes = total;
  if (stream->scheduled) stream->lane->schedule(*stream);
}

}  // namespace sheaf::quic
