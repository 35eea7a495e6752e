#pragma once

#include "congestion/bbr/bounds.h"
#include "util/time.h"

namespace sheaf::quic::bbr {

// Where a bandwidth probing cycle stands (draft-ietf-ccwg-bbr §2.14).
struct ProbeCycle {
  // What acknowledgements say about the probe, one round trip behind what is sent.
  enum class Feedback : std::uint8_t { kNone, kRefilling, kStarting, kArriving, kStopping };

  Feedback feedback = Feedback::kNone;
  bool is_probe_sample = false;  // what is acknowledged or lost now was sent while probing
  Time start{};
  Duration wait{};           // at most until the next probe
  std::uint64_t rounds = 0;  // since the last probe

  // The long-term bound is raised by 1, 2, 4, … datagrams in successive rounds.
  std::uint32_t raised_rounds = 0;
  double acknowledged = 0;                     // bytes not yet turned into a raise
  double acknowledged_per_raise = k_infinity;  // bytes for one datagram

  bool was_too_high = false;       // the last probe lost too much
  bool was_precautionary = false;  // it went no higher than the bound, as the one before lost
};

// §2.16.
struct ProbeRtt {
  double window = 0;         // bytes
  double window_before = 0;  // bytes
  Time done = k_never;
  bool round_done = false;
  // What was sent with this small window says nothing about bandwidth: up to so many bytes
  // delivered.
  std::uint64_t limited_until = 0;
};

}  // namespace sheaf::quic::bbr
