#pragma once

#include "congestion/bbr/bounds.h"
#include "util/time.h"

namespace sheaf::quic::bbr {

// State of a bandwidth probing cycle (draft-ietf-ccwg-bbr §2.14)
struct ProbeCycle {
  // Part of the probe that acknowledgements report, one round trip behind what is sent
  enum class Feedback : std::uint8_t { kNone, kRefilling, kStarting, kArriving, kStopping };

  Feedback feedback = Feedback::kNone;
  bool is_probe_sample = false;  // packets acknowledged or lost now were sent while probing
  Time start{};
  Duration wait{};           // maximum until the next probe
  std::uint64_t rounds = 0;  // since the last probe

  // Rounds in which the long-term bound was raised: by 1, 2, 4, … datagrams
  std::uint32_t raised_rounds = 0;
  double acknowledged = 0;                     // bytes not yet turned into a raise
  double acknowledged_per_raise = k_infinity;  // bytes for one datagram

  bool was_too_high = false;       // the last probe lost too much
  bool was_precautionary = false;  // it stayed below the bound, since the one before lost
};

// State of ProbeRTT (§2.16)
struct ProbeRtt {
  double window = 0;         // bytes
  double window_before = 0;  // bytes
  Time done = k_never;
  bool round_done = false;
  // Amount of delivered bytes up to which samples say nothing about bandwidth, since they were sent
  // with this small window
  std::uint64_t limited_until = 0;
};

}  // namespace sheaf::quic::bbr
