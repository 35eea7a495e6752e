#include "stream/remote_streams.h"

#include <algorithm>

#include "stream/outgoing_frames.h"
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

bool RemoteStreams::begin(StreamId id, std::uint8_t sender, std::uint64_t bytes) {
  Stream* stream = parts_.open.find(id);
  if (stream == nullptr || !stream->sends) return false;
  SendStream& send = stream->send;
  const bool untouched = send.writable() && send.buffer().end() == 0 && send.final_size() == 0;
  const std::uint64_t credit = std::min(send.limit().available(), parts_.limits.send.available());
  if (!untouched || credit < bytes || !assign(id, sender)) return false;
  send.elsewhere().withheld = true;
  send.append_remote(bytes, false);
  send.on_sent({.offset = 0, .length = bytes, .is_new = true, .remote = true});
  parts_.limits.send.consume(bytes);
  parts_.lanes.refresh(*stream);
  return true;
}

void RemoteStreams::retract(StreamId id) {
  Stream* stream = parts_.open.find(id);
  if (stream == nullptr || !stream->sends || stream->send.was_reset()) return;
  parts_.limits.send.give_back(stream->send.final_size());
  stream->send.open(stream->send.limit().limit());
  parts_.lanes.refresh(*stream);
}

void RemoteStreams::end_begun(StreamId id) {
  Stream* stream = parts_.open.find(id);
  if (stream == nullptr || !stream->sends) return;
  stream->send.on_sent({.offset = stream->send.buffer().end()});
  parts_.lanes.refresh(*stream);
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

std::uint64_t RemoteStreams::permit(StreamId id, std::uint64_t bytes) {
  Stream* stream = parts_.open.find(id);
  if (stream == nullptr || !stream->sends || stream->send.was_reset()) return 0;
  SendStream& send = stream->send;
  SendLimit& credit = parts_.limits.send;
  const std::uint64_t taken = send.permit_remote(std::min(bytes, credit.available()));
  credit.consume(taken);
  parts_.lanes.refresh(*stream);
  if (bytes > taken && credit.available() == 0) parts_.lanes.note_connection_blocked();
  return send.final_size();
}

void RemoteStreams::take_back(StreamId id, std::uint64_t offset) {
  Stream* stream = parts_.open.find(id);
  if (stream == nullptr || !stream->sends || stream->send.was_reset()) return;
  const std::uint64_t end = stream->send.final_size();
  if (end <= offset) return;
  stream->send.limit().give_back(end - offset);
  parts_.limits.send.give_back(end - offset);
  parts_.lanes.refresh(*stream);
}

void RemoteStreams::acknowledge(StreamId id, std::uint64_t begin, std::uint64_t end) {
  const Stream* stream = parts_.open.find(id);
  if (stream == nullptr || !stream->sends) return;
  std::uint64_t from = std::max(begin, stream->send.buffer().acknowledged());
  const bool fin = stream->send.ends_at(end);
  while (from < end) {
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(end - from, UINT32_MAX));
    from += length;
    outgoing_.on_acknowledged(SentFrame::for_data(id, from - length, length, fin && from == end));
  }
}

void RemoteStreams::lose(StreamId id, std::uint64_t begin) {
  const Stream* stream = parts_.open.find(id);
  if (stream == nullptr || !stream->sends) return;
  const std::uint64_t end = stream->send.final_size();
  for (std::uint64_t from = std::max(begin, stream->send.buffer().acknowledged()); from < end;) {
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(end - from, UINT32_MAX));
    outgoing_.on_lost(SentFrame::for_data(id, from, length, stream->send.ends_at(from + length)));
    from += length;
  }
}

std::uint64_t RemoteStreams::first_remote(StreamId id) const {
  const Stream* stream = parts_.open.find(id);
  if (stream == nullptr || !stream->sends) return 0;
  const SendBuffer& buffer = stream->send.buffer();
  std::uint64_t offset = buffer.acknowledged();
  while (offset < buffer.end()) {
    const SendBuffer::Part part = buffer.part_at(offset);
    if (part.remote) break;
    offset = part.end;
  }
  return offset;
}

std::uint64_t RemoteStreams::acknowledged(StreamId id) const {
  const Stream* stream = parts_.open.find(id);
  if (stream == nullptr || !stream->sends) return 0;
  const SendStream& send = stream->send;
  return send.was_reset() ? send.reset_fields().acknowledged : send.buffer().acknowledged();
}

std::uint64_t RemoteStreams::numbered(StreamId id) const {
  const Stream* stream = parts_.open.find(id);
  return stream != nullptr && stream->sends ? stream->send.final_size() : 0;
}

std::uint64_t RemoteStreams::written(StreamId id) const {
  const Stream* stream = parts_.open.find(id);
  return stream != nullptr && stream->sends ? stream->send.buffer().end() : 0;
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
