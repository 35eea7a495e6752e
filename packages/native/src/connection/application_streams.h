#pragma once

#include "stream/stream_memory.h"
#include "stream/stream_reader.h"
#include "stream/stream_writer.h"

namespace sheaf::quic {

struct ConnectionParts;

// The streams of a connection as its application sees them.
class ApplicationStreams {
 public:
  explicit ApplicationStreams(ConnectionParts& parts);

  StreamWriter& writer() { return writer_; }
  const StreamWriter& writer() const { return writer_; }
  StreamReader& reader() { return reader_; }
  const StreamReader& reader() const { return reader_; }
  StreamMemory& memory() { return memory_; }
  const StreamMemory& memory() const { return memory_; }

  std::size_t open_bidirectional() const;
  // The peer opened the stream in 0-RTT packets (RFC 8470).
  bool received_early(StreamId stream) const;
  // Discards all data of the streams, for a connection that is closed.
  void drop();

 private:
  ConnectionParts& parts_;
  StreamWriter& writer_;
  StreamReader& reader_;
  StreamMemory& memory_;
};

}  // namespace sheaf::quic
