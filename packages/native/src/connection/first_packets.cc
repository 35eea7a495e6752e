#include "connection/first_packets.h"

#include "connection/frame_outcome.h"
#include "connection/run_builder.h"
#include "recovery/reserved_packets.h"

namespace sheaf::quic {

std::optional<FirstPacket> FirstPackets::reserve(std::uint8_t sender, StreamId stream,
                                                 std::size_t others, Time now) {
  PathEntry* entry = parts_->paths.find(PathId{0});
  if (entry == nullptr || !entry->path || !parts_->runs) return std::nullopt;
  const PathSelection selection(*parts_, now);
  return RunBuilder(*parts_, *entry, selection, 0, now).reserve_first(sender, stream, others);
}

bool FirstPackets::settle(StreamId stream, const FirstPacket& first, FirstFate fate, Time now) {
  PathEntry* entry = parts_->paths.find(PathId{0});
  const bool gone = entry == nullptr || !entry->path;
  FrameOutcome outcome(*parts_, now);
  RemoteStreams& remote = parts_->streams.remote();
  if (fate == FirstFate::kUnknown) {
    if (!gone) forget_reserved(entry->path->loss, first.number);
  } else if (fate == FirstFate::kNotSent) {
    if (remote.acknowledged(stream) > 0) return false;
    if (!gone) refuse_reserved(entry->path->loss, first.number, now, outcome);
    remote.retract(stream);
  } else if (gone) {
    // With the path, all that was in flight on it is lost.
    const bool fin = fate == FirstFate::kSentAll;
    parts_->streams.outgoing().on_lost(SentFrame::for_data(stream, 0, first.payload, fin));
  } else {
    const PathSelection selection(*parts_, now);
    RunBuilder(*parts_, *entry, selection, 0, now)
        .on_first_sent(stream, first, fate == FirstFate::kSentAll);
  }
  return true;
}

}  // namespace sheaf::quic
