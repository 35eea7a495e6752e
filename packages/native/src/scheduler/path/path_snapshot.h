#pragma once

#include <cstdint>

#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// A path as a scheduler sees it. Sizes are in bytes.
struct PathSnapshot {
  PathId id{};
  Duration smoothed_rtt{};
  Duration rtt_variance{};
  std::uint64_t window = 0;
  // Bytes per round trip: the window, or less if the controller paces below it
  std::uint64_t capacity = 0;
  std::uint64_t in_flight = 0;
  // Bytes that may leave now under window, pacer and anti-amplification limit
  std::uint64_t sendable = 0;
  std::uint64_t datagram_size = 0;
  // Time until it can send, if it cannot now: when the oldest packet should be acknowledged
  Duration until_room{};
  std::uint32_t weight = 1;
  // Whether the peer or the application wants it used only when nothing else works (RFC 10069 §3.3)
  bool backup = false;
  // Whether a probe timeout has passed since it last acknowledged something
  bool suspect = false;

  bool can_send() const { return sendable >= datagram_size; }
};

}  // namespace sheaf::quic
