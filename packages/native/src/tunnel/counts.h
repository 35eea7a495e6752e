#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sheaf::tunnel {

// Why a packet of a tunnel was dropped. Names are in lib/tunnel_types.ts, in the same order.
enum class DropReason : std::uint8_t {
  // From the client to the target
  kUnknownContext,  // the datagram's context id has no meaning (RFC 9298 §4)
  kTargetTooLarge,  // larger than the path to the target carries
  kTargetBlocked,   // the system had no room to send it
  kTargetRefused,   // the system did not send it, for another reason
  // From the target to the client
  kClientTooLarge,  // larger than the client's connection carries
  kQueueFull,       // the tunnel's queue, or its connection's share of the room of all tunnels
  kQueueStanding,   // packets have waited in the tunnel's queue for too long (RFC 8289)
  kClientLost,      // sent, lost on the way to the client, and not sent again
  // In either direction
  kOverRate,  // above the rate of the tunnel's user
  // From a program to the relay that leads to its tunnels
  kFragment,   // part of a payload (RFC 1928 §7)
  kBadHeader,  // without a header that names a target
  kNoTunnel,   // too many targets
};
inline constexpr std::size_t k_drop_reasons = 12;

struct Traffic {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  // of UDP payload

  void add(std::uint64_t more_packets, std::uint64_t more_bytes) {
    packets += more_packets;
    bytes += more_bytes;
  }
};

// What a tunnel, or several together, did so far.
struct Counts {
  Traffic to_target;
  Traffic to_client;
  std::uint64_t repeated = 0;  // packets that were sent to the client once more, as they were lost
  std::uint64_t marked = 0;    // packets for the client that a standing queue marked (RFC 8289)
  std::array<std::uint64_t, k_drop_reasons> drops{};

  void drop(DropReason reason, std::uint64_t packets = 1) {
    drops[static_cast<std::size_t>(reason)] += packets;
  }
  std::uint64_t dropped(DropReason reason) const { return drops[static_cast<std::size_t>(reason)]; }
  void add(const Counts& other) {
    to_target.add(other.to_target.packets, other.to_target.bytes);
    to_client.add(other.to_client.packets, other.to_client.bytes);
    repeated += other.repeated;
    marked += other.marked;
    for (std::size_t i = 0; i < k_drop_reasons; ++i) drops[i] += other.drops[i];
  }
};

}  // namespace sheaf::tunnel
