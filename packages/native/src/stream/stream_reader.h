#pragma once

#include "stream/stream_set_config.h"
#include "util/bytes.h"
#include "util/result.h"
#include "util/time.h"

namespace sheaf::quic {

struct StreamParts;

// Reads for the application. Flow control credit returns to the peer as bytes are read.
class StreamReader {
 public:
  explicit StreamReader(StreamParts& parts) : parts_(parts) {}

  // Copies bytes that arrived in order to `out`.
  Result<ReadResult, StreamRefusal> read(StreamId stream, MutableBytes out, Time now);
  // Returns the number of bytes that `read` would return.
  std::uint64_t readable_bytes(StreamId stream) const;
  // Returns bytes in order, as far as they are contiguous in memory, without copying them. They are
  // valid until the next call on the StreamSet.
  Bytes peek(StreamId stream) const;
  // Consumes bytes that `peek` returned, as `read` does.
  Result<ReadResult, StreamRefusal> consume(StreamId stream, std::size_t bytes, Time now);
  // Asks the peer to send no more. Data that has arrived is discarded.
  Status<StreamRefusal> stop_sending(StreamId stream, std::uint64_t error);
  // Returns whether a stream has in-order data that the application has not read.
  bool unread() const;

 private:
  StreamParts& parts_;
};

}  // namespace sheaf::quic
