#pragma once

#include <cstdint>

#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// A path as a scheduler sees it. Sizes in bytes.
struct PathSnapshot {
  PathId id{};
  Duration smoothed_rtt{};
  Duration rtt_variance{};
  std::uint64_t window = 0;
  // What it carries in a round trip: the window, or less where the controller paces below it.
  std::uint64_t capacity = 0;
  std::uint64_t in_flight = 0;
  // What may leave now under window, pacer and anti-amplification.
  std::uint64_t sendable = 0;
  std::uint64_t datagram_size = 0;
  // Until it can send, if it cannot now: the oldest packet should be acknowledged by then.
  Duration until_room{};
  std::uint32_t weight = 1;
  // The peer or the application wants it used only when nothing else works (RFC 10069 §3.3).
  bool backup = false;
  // A probe timeout passed since it last acknowledged something.
  bool suspect = false;

  bool can_send() const { return sendable >= datagram_size; }
};

}  // namespace sheaf::quic
