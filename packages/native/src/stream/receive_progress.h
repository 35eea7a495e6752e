#pragma once

#include "stream/open_streams.h"

namespace sheaf::quic {

// Follows how far streams are read: gives credit back for what was read, and says when a reset is
// to be told.
class ReceiveProgress {
 public:
  ReceiveProgress(ConnectionLimits& limits, OpenStreams& open, StreamLanes& lanes,
                  EventQueue& events)
      : limits_(limits), open_(open), lanes_(lanes), events_(events) {}

  // The application read so many bytes, at most what is readable.
  void consume(Stream& stream, std::uint64_t bytes);
  // The rest of one read: the end of the stream, or its reset.
  void finish_read(Stream& stream, ReadResult& result);
  // The application has read what the reset leaves reliable.
  void tell_reset(Stream& stream);
  // Gives more credit where what arrived waits for what is missing.
  void widen_over_gap(Stream& stream);

 private:
  void announce_window(Stream& stream);

  ConnectionLimits& limits_;
  OpenStreams& open_;
  StreamLanes& lanes_;
  EventQueue& events_;
};

}  // namespace sheaf::quic
