#pragma once

#include <optional>

#include "stream/stream_set_config.h"
#include "util/result.h"
#include "wire/frame.h"

namespace sheaf::quic {

struct StreamParts;

// Streams that leave on one path alone. Where the path leads to a backend
// (docs/internals/multi-end.md), they are `apart`: that backend has them, and they end with it.
class PinnedStreams {
 public:
  explicit PinnedStreams(StreamParts& parts) : parts_(parts) {}

  // From now on the stream's data, lost data included, and the frames about it leave on this path
  // alone. `apart`: the path leads to another server; then the stream must be new, and stays there.
  Status<StreamRefusal> pin(StreamId stream, PathId path, bool apart = false);
  bool contains(StreamId stream) const;
  bool apart(StreamId stream) const;
  std::size_t count(PathId path) const;
  // The path is gone: its streams may use any.
  void unpin_all(PathId path);

  // --- client of several servers -------------------------------------------------------------
  // Frames that come now are from the server on this path; nothing: from the primary. Those about
  // streams of another server are STREAM_STATE_ERROR, new streams are pinned.
  void set_arrival(std::optional<PathId> path);
  // Ends the streams of a server that is gone (kLost). Nothing may come from it later: returns the
  // final account.
  BackendUse lose(PathId path);
  // Some stream there cannot go on before the primary gives more credit, to us or to the backend,
  // which said that `limit` bytes are all that it may send.
  bool starved(PathId path, std::optional<std::uint64_t> limit) const;

 private:
  StreamParts& parts_;
};

}  // namespace sheaf::quic
