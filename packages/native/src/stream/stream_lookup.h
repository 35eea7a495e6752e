#pragma once

#include <array>
#include <optional>

#include "stream/open_streams.h"
#include "util/interval_set.h"
#include "wire/frame.h"

namespace sheaf::quic {

// Finds the stream that a frame of the peer names, and opens it where the peer may (RFC 9000 §2.1,
// §3.2). Several servers may share the streams of a connection (docs/internals/multi-end.md).
class StreamLookup {
 public:
  // Refers to the stream, or is null when the part in question has been closed.
  using Found = Result<Stream*, TransportError>;

  StreamLookup(ConnectionLimits& limits, OpenStreams& open, StreamLanes& lanes, EventQueue& events)
      : limits_(limits), open_(open), lanes_(lanes), events_(events) {}

  // Finds the stream of a frame about data that the peer sends.
  Found find_receiving(StreamId id, FrameType type);
  // Finds the stream of a frame about data that this side sends.
  Found find_sending(StreamId id, FrameType type);

  // Called when other servers may have the streams between those that open here.
  void share();
  bool shared() const { return shared_; }
  // Client: sets the path of the backend that the next frames come from; nothing stands for the
  // primary.
  void set_arrival(std::optional<PathId> path) { arrival_ = path; }

 private:
  Found find_or_open(StreamId id, FrameType type);
  Found find_local(StreamId id, FrameType type);
  Found open_in_order(StreamId id, FrameType type);
  Found open_alone(StreamId id, FrameType type);
  Stream& open(StreamId id);
  // Returns whether the server that sent the current frame has this stream.
  bool at_arrival(const Stream& stream) const {
    return stream.lane->apart ? stream.lane->path == arrival_ : !arrival_;
  }

  ConnectionLimits& limits_;
  OpenStreams& open_;
  StreamLanes& lanes_;
  EventQueue& events_;
  bool shared_ = false;
  std::optional<PathId> arrival_;
  std::array<IntervalSet, 2> peer_opened_;  // indices of the streams that the peer opened, by
                                            // Directionality, bounded; used when `shared`
};

}  // namespace sheaf::quic
