#pragma once

#include "util/time.h"
#include "wire/frame.h"
#include "wire/transport_error.h"

namespace sheaf::quic {

struct StreamParts;

// Handles the peer's frames about streams and their limits (RFC 9000 §19.4 to §19.14). An error
// ends the connection.
class IncomingFrames {
 public:
  explicit IncomingFrames(StreamParts& parts) : parts_(parts) {}

  TransportStatus on_stream(const StreamFrame& frame, Time now);
  TransportStatus on_reset_stream(const ResetStreamFrame& frame);
  TransportStatus on_stop_sending(const StopSendingFrame& frame);
  TransportStatus on_max_data(const MaxDataFrame& frame);
  TransportStatus on_max_stream_data(const MaxStreamDataFrame& frame);
  TransportStatus on_max_streams(const MaxStreamsFrame& frame);
  TransportStatus on_data_blocked(const DataBlockedFrame& frame);
  TransportStatus on_stream_data_blocked(const StreamDataBlockedFrame& frame);
  TransportStatus on_streams_blocked(const StreamsBlockedFrame& frame);

 private:
  StreamParts& parts_;
};

}  // namespace sheaf::quic
