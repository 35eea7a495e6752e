#pragma once

#include "stream/send_chunk.h"
#include "stream/stream_set_config.h"
#include "util/result.h"

namespace sheaf::quic {

struct StreamParts;

// Sends for the application: opens streams, writes, resets, and takes their order.
class StreamWriter {
 public:
  explicit StreamWriter(StreamParts& parts) : parts_(parts) {}

  Result<StreamId, StreamRefusal> open(Directionality directionality);
  std::uint64_t streams_available(Directionality directionality) const;
  // Takes the chunk whole. `false` = taken, but the buffer is now full: wait for kWritable.
  Result<bool, StreamRefusal> write(StreamId stream, SendChunk chunk, bool fin);
  Status<StreamRefusal> reset(StreamId stream, std::uint64_t error);
  // So many bytes from the stream's beginning arrive even if it is reset then, when the peer takes
  // RESET_STREAM_AT and does not ask for an end itself.
  void keep_reliable(StreamId stream, std::uint64_t bytes);
  // How large a chunk to write next; kept free for the stream until its next `write`. 0: wait for
  // kWritable.
  std::uint64_t reserve(StreamId stream);
  // In bytes, written but not yet in a packet.
  std::uint64_t unsent_bytes(StreamId stream) const;

  // Without a word about the tree the stream keeps its place there.
  void set_priority(StreamId stream, const StreamPriority& priority);
  // Its place in the dependency tree (RFC 7540 §5.3.1).
  void set_dependency(StreamId stream, const Dependency& dependency);
  // A node of the dependency tree that has no stream (RFC 7540 §5.3.4).
  void set_group(const Dependency& group);
  // How much will have been written when the stream ends, if that is known before (a response's
  // Content-Length); schedulers look at what remains. A wrong number costs order, nothing else.
  void set_expected_bytes(StreamId stream, std::uint64_t total);

 private:
  StreamParts& parts_;
};

}  // namespace sheaf::quic
