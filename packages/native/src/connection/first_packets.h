#pragma once

#include <optional>

#include "connection/run_order.h"

namespace sheaf::quic {

struct ConnectionParts;

// Packets that other nodes send of their own accord, each with the first bytes of a stream. Refers
// to the connection, and may be copied.
class FirstPackets {
 public:
  explicit FirstPackets(ConnectionParts& parts) : parts_(&parts) {}

  // Numbers a packet for the first bytes of a stream that its sender may send before this node
  // knows of it. The stream counts as assigned, and its bytes as sent, but not as in flight.
  // `others` are such packets of which nothing is known yet. Nothing when more than a few packets
  // are in flight or wait to be sent, `others` included, or anything of the stream was written.
  std::optional<FirstPacket> reserve(std::uint8_t sender, StreamId stream, std::size_t others,
                                     Time now);
  // Says what has become of it. Returns false, and does nothing, if it was not sent and the peer
  // claims to have it.
  bool settle(StreamId stream, const FirstPacket& first, FirstFate fate, Time now);

 private:
  ConnectionParts* parts_;
};

}  // namespace sheaf::quic
