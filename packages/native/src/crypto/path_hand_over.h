#pragma once

#include <optional>

#include "crypto/packet_keys.h"

namespace sheaf::quic {

// Keys of one direction in their present phase. Wiped when destroyed.
struct DirectionKeys {
  TrafficSecret secret;
  // The header protection key itself: the first secret, from which it comes, opens all packets.
  PacketKeys header_key;
  std::uint64_t generation = 0;  // key updates before; the lowest bit is the key phase
};

// What another node needs to send and receive on one path, and to use no nonce twice
// (docs/internals/keys.md): `OneRttKeys::hand_over` gives it once, `OneRttKeys::take_over` takes
// it. Whoever carries it keeps it secret and delivers it to one node, once.
struct PathHandOver {
  KeyMode mode = KeyMode::kPerPath;  // kShared: the keys are those of all paths
  PathId path;
  std::optional<DirectionKeys> send;     // for the node that takes over, as for the one that gave
  std::optional<DirectionKeys> receive;  // at least one of the two
  PacketNumber next_number = 0;          // the lowest that may still be sent
  std::uint64_t sealed = 0;              // with the present key; 0 in KeyMode::kShared
  std::uint64_t forged = 0;              // packets seen; 0 in KeyMode::kShared

  PathHandOver() = default;
  PathHandOver(PathHandOver&&) = default;
  PathHandOver& operator=(PathHandOver&&) = default;

  // Lengths, suites and numbers are such as `hand_over` gives them.
  bool valid() const;
};

}  // namespace sheaf::quic
