#pragma once

#include <cstdint>

#include "recovery/sent_packets.h"
#include "util/time.h"

namespace sheaf::quic {

// The delivery rate of the path, measured at each acknowledgement (draft-ietf-ccwg-bbr §4.1). It is
// the bytes delivered between sending a packet and learning of its arrival, divided by the longer
// of two times: the time it took to send them and the time it took to acknowledge them.
class DeliveryRate {
 public:
  // Describes the packet sent last among those that one ACK frame acknowledged. Sizes are in bytes.
  struct Sample {
    std::uint64_t bytes_per_second = 0;   // 0 when unknown
    std::uint64_t delivered_at_send = 0;  // `delivered` when the packet was sent
    std::uint64_t in_flight_at_send = 0;  // including the packet
    std::uint64_t lost_since_send = 0;
    bool application_limited = false;  // a lower bound only
  };

  // `bytes_in_flight` does not include this packet.
  void on_sent(SentPacket& packet, std::uint64_t bytes_in_flight);
  // Called for each packet in flight that one ACK frame settles, in any order.
  void on_acknowledged(const SentPacket& packet, Time now);
  // Called for each packet in flight that is declared lost, apart from MTU probes.
  void on_lost(const SentPacket& packet) { lost_ += packet.bytes; }
  // Called after each ACK frame; the next sample starts anew.
  Sample take_sample(Time now, Duration minimum_rtt);
  // Called when the sender had nothing to send. Samples of packets sent until this flight has been
  // delivered are then lower bounds: they say nothing about what the path could carry.
  void on_application_limited(std::uint64_t bytes_in_flight);

  std::uint64_t delivered() const { return delivered_; }
  std::uint64_t lost_since(const SentPacket& packet) const {
    return static_cast<std::uint32_t>(lost_) - packet.lost_at_send;
  }

 private:
  std::uint64_t delivered_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t application_limited_until_ = 0;  // a value of delivered_
  Time delivered_at_{};
  Time flight_start_{};
  SentPacket newest_;  // the packet sent last among those acknowledged by this frame
  bool has_newest_ = false;
};

}  // namespace sheaf::quic
