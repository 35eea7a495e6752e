#pragma once

#include <cstdint>

#include "wire/types.h"

namespace sheaf::quic {

// The record of a frame that a packet carried, kept until the packet is acknowledged or lost. Small
// and trivially copyable: for frames that can be rebuilt from state (MAX_DATA, NEW_CONNECTION_ID,
// …) it only tells which frame it was.
struct SentFrame {
  enum class Kind : std::uint8_t {
    kAck,  // offset = largest packet number that it reported
    kPing,
    kStream,       // stream, offset, length, fin
    kResetStream,  // stream
    kStopSending,  // stream
    kCrypto,       // offset, length
    kNewToken,
    kMaxData,             // offset = value sent
    kMaxStreamData,       // stream, offset = value sent
    kMaxStreamsBidi,      // offset = value sent
    kMaxStreamsUni,       // offset = value sent
    kDataBlocked,         // offset = limit
    kStreamDataBlocked,   // stream, offset = limit
    kStreamsBlockedBidi,  // offset = limit
    kStreamsBlockedUni,   // offset = limit
    kNewConnectionId,     // stream = path id, offset = sequence
    kRetireConnectionId,  // stream = path id, offset = sequence
    kPathChallenge,
    kPathResponse,
    kHandshakeDone,
    kDatagram,  // offset = identifier that the application was given
    kMtuProbe,  // length = size that the probe tries
    // Frames of RFC 10069 §4.
    kPathAck,          // stream = path id, offset = largest packet number that it reported
    kPathAbandon,      // stream = path id
    kPathStatus,       // stream = path id, offset = sequence
    kMaxPathId,        // offset = value sent
    kPathsBlocked,     // offset = limit
    kPathCidsBlocked,  // stream = path id
    // Frames of docs/reference/wire.md.
    kBackendOffer,     // stream = backend id, offset = sequence
    kBackendWithdraw,  // stream = backend id, offset = sequence
  };
  std::uint64_t stream = 0;  // or path id
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  Kind kind = Kind::kPing;
  bool fin = false;
};

}  // namespace sheaf::quic
