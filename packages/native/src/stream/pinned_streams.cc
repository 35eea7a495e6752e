#include "stream/pinned_streams.h"

#include "stream/stream_parts.h"

namespace sheaf::quic {

Status<StreamRefusal> PinnedStreams::pin(StreamId id, PathId path, bool apart) {
  Stream* stream = parts_.open.find(id);
  if (stream == nullptr || stream->lost) return StreamRefusal::kUnknownStream;
  if (stream->lane->path == path) return {};
  // A stream stays with the server that knows it.
  const bool touched = id.initiator() != parts_.limits.role || stream->send.final_size() > 0;
  if (stream->lane->apart || (apart && touched)) return StreamRefusal::kElsewhere;
  StreamLane& lane = parts_.lanes.make_pinned(path, apart);
  parts_.lanes.move(*stream, lane);
  if (apart && id.directionality() == Directionality::kBidirectional) ++lane.use.streams;
  return {};
}

bool PinnedStreams::contains(StreamId id) const {
  if (!parts_.lanes.some_pinned()) return false;
  const Stream* stream = parts_.open.find(id);
  return stream != nullptr && stream->lane != &parts_.lanes.any_path();
}

bool PinnedStreams::apart(StreamId id) const {
  const Stream* stream = parts_.lanes.some_pinned() ? parts_.open.find(id) : nullptr;
  return stream != nullptr && stream->lane->apart;
}

std::size_t PinnedStreams::count(PathId path) const {
  const StreamLane* lane = parts_.lanes.pinned_to(path);
  return lane ? lane->size() : 0;
}

void PinnedStreams::unpin_all(PathId path) {
  const StreamLane* lane = parts_.lanes.pinned_to(path);
  if (!lane) return;
  parts_.open.for_each([&](Stream& stream) {
    if (stream.lane == lane) parts_.lanes.move(stream, parts_.lanes.any_path());
  });
  parts_.lanes.erase(*lane);
}

// --- client of several servers ---------------------------------------------------------------

void PinnedStreams::set_arrival(std::optional<PathId> path) { parts_.lookup.set_arrival(path); }

BackendUse PinnedStreams::lose(PathId path) {
  const StreamLane* lane = parts_.lanes.pinned_to(path);
  if (!lane) return {};
  const BackendUse use = lane->use;
  parts_.open.for_each([&](Stream& stream) {
    if (stream.lane != lane) return;
    parts_.lanes.cancel_control(stream, 0xff);
    const bool complete = stream.receives ? stream.receive.complete() : stream.send.terminal();
    if (stream.sends) {
      stream.send.reset(0, false);
      stream.send.on_reset_acknowledged();
      parts_.lanes.refresh(stream);
    }
    parts_.lanes.move(stream, parts_.lanes.any_path());
    stream.lost = true;
    if (!complete) {
      parts_.events.push(stream, StreamEvent::Kind::kLost);
    } else {
      parts_.open.close_if_finished(stream);
    }
  });
  parts_.lanes.erase(*lane);
  return use;
}

bool PinnedStreams::starved(PathId path, std::optional<std::uint64_t> limit) const {
  const StreamLane* lane = parts_.lanes.pinned_to(path);
  if (!lane || lane->size() == 0) return false;
  const bool takes_no_more =
      parts_.limits.send.available() == 0 && lane->senders(SendStream::Sendability::kNewData) > 0;
  return takes_no_more || (limit && lane->use.received == *limit);
}

}  // namespace sheaf::quic
