#pragma once

#include <optional>

#include "stream/stream_set_config.h"
#include "util/result.h"
#include "wire/frame.h"

namespace sheaf::quic {

struct StreamParts;

// Restricts streams to one path. When that path leads to a backend (docs/internals/multi-end.md),
// they are `apart`: only that backend has them, and they end with it.
class PinnedStreams {
 public:
  explicit PinnedStreams(StreamParts& parts) : parts_(parts) {}

  // Sends the stream's data, lost data included, and the frames about it on this path alone from
  // now on. `apart` tells that the path leads to another server; then the stream must be new and
  // stays there.
  Status<StreamRefusal> pin(StreamId stream, PathId path, bool apart = false);
  bool contains(StreamId stream) const;
  bool apart(StreamId stream) const;
  std::size_t count(PathId path) const;
  // Called when the path is gone, so that its streams may use any path.
  void unpin_all(PathId path);

  // --- client of several servers -------------------------------------------------------------
  // Tells that the next frames come from the server on this path; nothing stands for the primary.
  // Frames about streams of another server are a STREAM_STATE_ERROR, and new streams are pinned.
  void set_arrival(std::optional<PathId> path);
  // Ends the streams of a server that is gone (kLost), from which nothing may come later. Returns
  // the final account.
  BackendUse lose(PathId path);
  // Returns whether some stream there waits for the primary to give more credit, either to us or to
  // the backend. The backend said that it may send no more than `limit` bytes.
  bool starved(PathId path, std::optional<std::uint64_t> limit) const;

 private:
  StreamParts& parts_;
};

}  // namespace sheaf::quic
