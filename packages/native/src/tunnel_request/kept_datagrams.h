#pragma once

#include <cstdint>
#include <optional>

#include "tunnel/packet_queue.h"
#include "tunnel/sent_payloads.h"
#include "wire/types.h"

namespace sheaf::tunnel_request {

// What a connection has sent for those of its tunnels that send lost packets again (RMDT of TECC,
// NSDI 2024, §2), until its fate is known. It takes of the room that queues of tunnels share.
class KeptDatagrams {
 public:
  // A datagram that was lost, and the stream of its tunnel
  struct Lost {
    quic::StreamId stream;
    tunnel::Packet packet;
  };

  explicit KeptDatagrams(tunnel::RoomShare room) : room_(room) {}
  ~KeptDatagrams() { room_.give_back(held()); }
  KeptDatagrams(const KeptDatagrams&) = delete;
  KeptDatagrams& operator=(const KeptDatagrams&) = delete;

  // Copies what is sent now, and returns its number; nothing when there is no room, so that it is
  // sent once.
  std::optional<std::uint64_t> keep(const tunnel::Packet& packet, quic::StreamId stream) {
    const std::size_t most = packet.payload.size() + k_overhead;
    if (!room_.take(most)) return std::nullopt;
    const std::size_t before = held();
    // A stream id has 62 bits (RFC 9000 §2.1).
    const std::uint64_t owner = stream.value << 2 | static_cast<std::uint64_t>(packet.ecn);
    const std::uint64_t number = sent_.keep(packet.payload, owner);
    room_.give_back(before + most - held());  // what the oldest had, if they are forgotten
    return number;
  }
  void forget(std::uint64_t number) {
    const std::size_t before = held();
    sent_.on_acknowledged(number);
    room_.give_back(before - held());
  }
  // Returns what was lost, valid until the next `keep`; nothing when it is forgotten.
  std::optional<Lost> take_lost(std::uint64_t number) {
    const std::size_t before = held();
    const auto lost = sent_.take_lost(number);
    room_.give_back(before - held());
    if (!lost) return std::nullopt;
    return Lost{{lost->owner >> 2}, {lost->payload, static_cast<quic::Ecn>(lost->owner & 3)}};
  }
  void release_spare() { sent_.release_spare(); }
  // Bytes of the room
  std::size_t held() const { return sent_.bytes() + k_overhead * sent_.size(); }

 private:
  static constexpr std::size_t k_limit = 4 << 20;  // bytes of payloads, of one connection
  static constexpr std::size_t k_overhead = 128;   // bytes that a payload takes beside its own

  quic::SentPayloads sent_{k_limit};
  tunnel::RoomShare room_;
};

}  // namespace sheaf::tunnel_request
