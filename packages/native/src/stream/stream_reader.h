#pragma once

#include "stream/stream_set_config.h"
#include "util/bytes.h"
#include "util/result.h"
#include "util/time.h"

namespace sheaf::quic {

struct StreamParts;

// Reads for the application. Flow control credit goes back to the peer as bytes are read.
class StreamReader {
 public:
  explicit StreamReader(StreamParts& parts) : parts_(parts) {}

  // Copies out the bytes that arrived in order.
  Result<ReadResult, StreamRefusal> read(StreamId stream, MutableBytes out, Time now);
  // Returns the number of bytes that `read` gives.
  std::uint64_t readable_bytes(StreamId stream) const;
  // Returns bytes in order without a copy, as far as they are contiguous in memory; valid until the
  // next call on the StreamSet.
  Bytes peek(StreamId stream) const;
  // Consumes bytes that `peek` showed, like `read`.
  Result<ReadResult, StreamRefusal> consume(StreamId stream, std::size_t bytes, Time now);
  // Asks the peer to send no more; data that has arrived is discarded.
  Status<StreamRefusal> stop_sending(StreamId stream, std::uint64_t error);
  // Returns whether any stream has data in order that the application has not read.
  bool unread() const;

 private:
  StreamParts& parts_;
};

}  // namespace sheaf::quic
