#pragma once

#include <cstdint>

#include "recovery/sent_packets.h"
#include "util/time.h"

namespace sheaf::quic {

// How fast the path delivers, measured at each acknowledgement (draft-ietf-ccwg-bbr §4.1): bytes
// delivered between sending a packet and learning of its arrival, over the longer of the time it
// took to send them and the time it took to acknowledge them.
class DeliveryRate {
 public:
  // About the packet sent last of those that one ACK frame acknowledged. Bytes.
  struct Sample {
    std::uint64_t bytes_per_second = 0;   // 0 when unknown
    std::uint64_t delivered_at_send = 0;  // `delivered` when it was sent
    std::uint64_t in_flight_at_send = 0;  // with it
    std::uint64_t lost_since_send = 0;
    bool application_limited = false;  // a lower bound only
  };

  // `bytes_in_flight` without this packet.
  void on_sent(SentPacket& packet, std::uint64_t bytes_in_flight);
  // For each packet in flight that one ACK frame settles, in any order.
  void on_acknowledged(const SentPacket& packet, Time now);
  // For each packet in flight that is declared lost, apart from MTU probes.
  void on_lost(const SentPacket& packet) { lost_ += packet.bytes; }
  // After the ACK frame; starts over for the next one.
  Sample take_sample(Time now, Duration minimum_rtt);
  // The sender had nothing to send: samples taken from what it sends until this flight has been
  // delivered say nothing about the path.
  void on_application_limited(std::uint64_t bytes_in_flight);

  std::uint64_t delivered() const { return delivered_; }
  std::uint64_t lost_since(const SentPacket& packet) const {
    return static_cast<std::uint32_t>(lost_) - packet.lost_at_send;
  }

 private:
  std::uint64_t delivered_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t application_limited_until_ = 0;  // in delivered bytes
  Time delivered_at_{};
  Time flight_start_{};
  SentPacket newest_;  // of the packets acknowledged now
  bool has_newest_ = false;
};

}  // namespace sheaf::quic
