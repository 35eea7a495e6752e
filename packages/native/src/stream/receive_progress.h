#pragma once

#include "stream/open_streams.h"

namespace sheaf::quic {

// Follows how far streams are read. Gives back credit for the bytes read, and decides when a reset
// is reported.
class ReceiveProgress {
 public:
  ReceiveProgress(ConnectionLimits& limits, OpenStreams& open, StreamLanes& lanes,
                  EventQueue& events)
      : limits_(limits), open_(open), lanes_(lanes), events_(events) {}

  // Called when the application has read `bytes`, which are at most those readable.
  void consume(Stream& stream, std::uint64_t bytes);
  // Finishes one read: adds the end of the stream, or its reset, to the result.
  void finish_read(Stream& stream, ReadResult& result);
  // Reports a reset once the application has read the data that it leaves reliable.
  void tell_reset(Stream& stream);
  // Gives more credit when data that arrived waits for missing data.
  void widen_over_gap(Stream& stream);

 private:
  void announce_window(Stream& stream);

  ConnectionLimits& limits_;
  OpenStreams& open_;
  StreamLanes& lanes_;
  EventQueue& events_;
};

}  // namespace sheaf::quic
