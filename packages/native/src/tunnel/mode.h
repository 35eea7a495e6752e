#pragma once

#include <cstdint>

namespace sheaf::quic {

// How a tunnel carries the packets of inner connections (TECC, NSDI 2024, §2)
enum class TunnelMode : std::uint8_t {
  kStream,       // MST: capsules on one stream, in order
  kStreamGroup,  // MSGT: capsules spread over several streams
  kDatagram,     // MDT: QUIC datagrams, each sent once
  kRetransmit,   // RMDT: QUIC datagrams, sent again in other frames when they are lost
  kForward,      // MFT: packets are passed on, without a tunnel
};

// What an end of a tunnel does with reports about it. Numbers are in lib/tunnel.ts.
enum class TunnelReports : std::uint8_t { kNone, kMakes, kTakes };

inline bool uses_streams(TunnelMode mode) {
  return mode == TunnelMode::kStream || mode == TunnelMode::kStreamGroup;
}

}  // namespace sheaf::quic
