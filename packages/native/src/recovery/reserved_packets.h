#pragma once

#include "recovery/loss_detection.h"

namespace sheaf::quic {

// A packet that another node may send before this one knows of it, for the first bytes of a stream.
// It is not in flight, and no loss, before it is known to be sent. It may be acknowledged at any
// time, and then says nothing about a round trip: nobody else knows when it left.
struct ReservedPacket {
  std::uint16_t bytes = 0;
  std::uint8_t sender = 0;  // which is open
  StreamId stream{};
  std::uint16_t payload = 0;  // bytes of the stream
};

// Returns the number of the packet.
PacketNumber reserve_packet(LossDetection& loss, const ReservedPacket& packet, Time now);
// The packet, which was not acknowledged, leaves, and ends its stream or not. Returns false if
// nothing would tell its loss any more: the sender is gone, or many packets came after it.
bool send_reserved(LossDetection& loss, PacketNumber number, bool fin, Time now);
// The packet was not sent, and never will be. An acknowledgement of it is a PROTOCOL_VIOLATION.
void refuse_reserved(LossDetection& loss, PacketNumber number, Time now,
                     SentFrameListener& listener);
// Nobody knows whether the packet was sent, and nobody cares.
void forget_reserved(LossDetection& loss, PacketNumber number);

}  // namespace sheaf::quic
