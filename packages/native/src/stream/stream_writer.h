#pragma once

#include "stream/send_chunk.h"
#include "stream/stream_set_config.h"
#include "util/result.h"

namespace sheaf::quic {

struct Stream;
struct StreamParts;

// Sends for the application: opens streams, writes to them, resets them and sets their order.
class StreamWriter {
 public:
  explicit StreamWriter(StreamParts& parts) : parts_(parts) {}

  Result<StreamId, StreamRefusal> open(Directionality directionality);
  std::uint64_t streams_available(Directionality directionality) const;
  // Accepts the whole chunk. A result of false says that the buffer is full now, and that the
  // caller should wait for kWritable.
  Result<bool, StreamRefusal> write(StreamId stream, SendChunk chunk, bool fin);
  // Does the same with bytes that take the place of remote ones (stream/remote_streams.h), or that
  // follow the end. They begin at or before the end.
  Result<bool, StreamRefusal> replace(StreamId stream, std::uint64_t offset, SendChunk chunk,
                                      bool fin);
  Status<StreamRefusal> reset(StreamId stream, std::uint64_t error);
  // Makes the first `bytes` arrive even when the stream is reset, provided that the peer supports
  // RESET_STREAM_AT and does not send STOP_SENDING.
  void keep_reliable(StreamId stream, std::uint64_t bytes);
  // Returns the size, in bytes, of the next chunk to write, and reserves this room until the next
  // `write` of the stream. 0 asks the caller to wait for kWritable.
  std::uint64_t reserve(StreamId stream);
  // Returns the number of bytes written but not yet in a packet.
  std::uint64_t unsent_bytes(StreamId stream) const;

  // A stream keeps its place in the dependency tree when `priority` does not name one.
  void set_priority(StreamId stream, const StreamPriority& priority);
  // Sets the stream's place in the dependency tree (RFC 7540 §5.3.1).
  void set_dependency(StreamId stream, const Dependency& dependency);
  // Adds a node to the dependency tree that has no stream (RFC 7540 §5.3.4).
  void set_group(const Dependency& group);
  // Sets the final length of the stream in bytes, when it is known early (a response's
  // Content-Length). Schedulers look at the remaining bytes. A wrong number only harms the order.
  void set_expected_bytes(StreamId stream, std::uint64_t total);

 private:
  bool on_written(Stream& stream, bool fin);

  StreamParts& parts_;
};

}  // namespace sheaf::quic
