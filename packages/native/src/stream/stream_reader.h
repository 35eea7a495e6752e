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

  // Copies in-order bytes out.
  Result<ReadResult, StreamRefusal> read(StreamId stream, MutableBytes out, Time now);
  // In bytes: how much `read` gives.
  std::uint64_t readable_bytes(StreamId stream) const;
  // In-order bytes without a copy, as far as they lie side by side; valid until the next call on
  // the StreamSet.
  Bytes peek(StreamId stream) const;
  // Consumes what `peek` showed, as `read` does.
  Result<ReadResult, StreamRefusal> consume(StreamId stream, std::size_t bytes, Time now);
  // Asks the peer to send no more; what has arrived is discarded.
  Status<StreamRefusal> stop_sending(StreamId stream, std::uint64_t error);
  // Something has arrived, in order, on any stream, that the application has not read.
  bool unread() const;

 private:
  StreamParts& parts_;
};

}  // namespace sheaf::quic
