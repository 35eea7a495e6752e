#include "stream/remote_streams.h"

#include "stream/stream_parts.h"

namespace sheaf::quic {

Result<std::uint64_t, StreamRefusal> RemoteStreams::assign(StreamId id, std::uint8_t sender) {
  Stream* stream = parts_.open.find(id);
  if (stream == nullptr) return StreamRefusal::kUnknownStream;
  if (!stream->sends) return StreamRefusal::kWrongDirection;
  if (stream->lane != &parts_.lanes.any_path()) return StreamRefusal::kElsewhere;
  if (stream->send.was_reset()) return StreamRefusal::kFinished;
  if (stream->send.elsewhere().sender == 0 && !stream->send.writable())
    return StreamRefusal::kFinished;
  stream->send.elsewhere().sender = sender;
  parts_.room.count(*stream);
  return stream->send.buffer().end();
}

Status<StreamRefusal> RemoteStreams::append(StreamId id, std::uint64_t bytes, bool fin) {
  Stream* stream = parts_.open.find(id);
  if (stream == nullptr) return StreamRefusal::kUnknownStream;
  if (stream->send.elsewhere().sender == 0) return StreamRefusal::kElsewhere;
  if (!stream->send.writable()) return StreamRefusal::kFinished;
  const bool known = stream->scheduled;
  stream->send.append_remote(bytes, fin);
  parts_.lanes.refresh(*stream);
  if (known) stream->lane->schedule(*stream);
  if (parts_.limits.send.available() == 0) parts_.lanes.note_connection_blocked();
  return {};
}

void RemoteStreams::withhold(StreamId id, bool withheld) {
  Stream* stream = parts_.open.find(id);
  if (stream == nullptr || stream->send.elsewhere().sender == 0) return;
  stream->send.elsewhere().withheld = withheld;
  parts_.lanes.refresh(*stream);
}

std::uint64_t RemoteStreams::acknowledged(StreamId id) const {
  const Stream* stream = parts_.open.find(id);
  return stream != nullptr && stream->sends ? stream->send.buffer().acknowledged() : 0;
}

std::uint64_t RemoteStreams::numbered(StreamId id) const {
  const Stream* stream = parts_.open.find(id);
  return stream != nullptr && stream->sends ? stream->send.final_size() : 0;
}

bool RemoteStreams::contains(StreamId id) const {
  const Stream* stream = parts_.open.find(id);
  return stream != nullptr && stream->sends && stream->send.elsewhere().sender != 0;
}

bool RemoteStreams::wanted(StreamId id) const {
  const Stream* stream = parts_.open.find(id);
  return stream != nullptr && stream->sends && !stream->send.was_reset();
}

}  // namespace sheaf::quic
