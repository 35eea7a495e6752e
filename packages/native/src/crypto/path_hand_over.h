#pragma once

#include <optional>

#include "crypto/packet_keys.h"

namespace sheaf::quic {

// Keys of one direction in their present phase. Wiped when destroyed.
struct DirectionKeys {
  TrafficSecret secret;
  // The header protection key itself. It comes from the first secret, which could open all packets.
  PacketKeys header_key;
  std::uint64_t generation = 0;  // number of earlier key updates; the lowest bit is the key phase
};

// State that another node needs to send and receive on one path, and to use no nonce twice
// (docs/internals/keys.md). `OneRttKeys::hand_over` creates it once, and `OneRttKeys::take_over`
// consumes it. Its carrier keeps it secret, and delivers it to one node, once.
struct PathHandOver {
  KeyMode mode = KeyMode::kPerPath;  // kShared: the keys are those of all paths
  PathId path;
  std::optional<DirectionKeys> send;     // directions as seen by both nodes
  std::optional<DirectionKeys> receive;  // at least one of the two
  PacketNumber next_number = 0;          // lowest number that may still be sent
  std::uint64_t sealed = 0;              // with the present key; 0 in KeyMode::kShared
  std::uint64_t forged = 0;              // packets seen; 0 in KeyMode::kShared

  PathHandOver() = default;
  PathHandOver(PathHandOver&&) = default;
  PathHandOver& operator=(PathHandOver&&) = default;

  // Whether lengths, suites and numbers are possible results of `hand_over`
  bool valid() const;
};

}  // namespace sheaf::quic
