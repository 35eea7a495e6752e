#include "recovery/reserved_packets.h"

namespace sheaf::quic {

PacketNumber reserve_packet(LossDetection& loss, const ReservedPacket& packet, Time now) {
  const PacketNumber number = loss.sent().commit_run(
      {.time_sent = now, .bytes = packet.bytes, .untimed = true, .sender = packet.sender}, 1,
      {.stream = packet.stream, .bytes_per_packet = packet.payload});
  loss.on_packet_sent(number, now);
  return number;
}

bool send_reserved(LossDetection& loss, PacketNumber number, bool fin, Time now) {
  SentPacket* packet = loss.sent().find(number);
  if (packet == nullptr) return false;
  if (fin) loss.sent().end_stream(number);
  if (packet->state != SentPacket::State::kOutstanding) return false;
  packet->in_flight = packet->ack_eliciting = true;
  packet->time_sent = now;
  loss.on_packet_sent(number, now);
  return true;
}

void refuse_reserved(LossDetection& loss, PacketNumber number, Time now,
                     SentFrameListener& listener) {
  const SentPacket* packet = loss.sent().find(number);
  if (packet == nullptr) return;
  // A sender that is gone refuses nothing itself.
  if (loss.refuse_run(packet->sender, number, 1, now, listener) == 0) loss.sent().refuse(number);
}

void forget_reserved(LossDetection& loss, PacketNumber number) {
  SentPacket* packet = loss.sent().find(number);
  if (packet == nullptr || packet->state != SentPacket::State::kOutstanding) return;
  packet->state = SentPacket::State::kLost;
}

}  // namespace sheaf::quic
