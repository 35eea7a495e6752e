#pragma once

#include <cstdint>

#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// HyStart++ (RFC 9406): leaves slow start when the round trip grows, before packets are lost. First
// it continues more slowly for some rounds, in case the growth was only jitter.
class HyStart {
 public:
  // Notes the highest number sent so far.
  void on_packet_sent(PacketNumber number) { last_sent_ = number; }
  // Processes the acknowledgements of one moment in slow start. `rtt` is the smallest of their
  // samples, and ignored when there is none. Returns true when slow start is over because the
  // window is large enough.
  bool on_acknowledgement(PacketNumber largest, Duration rtt, std::uint32_t samples);
  // Stops: only the first slow start is guarded (RFC 9406 §4.2).
  void stop() { active_ = false; }
  // Divisor of the window's growth
  std::uint64_t growth_divisor() const { return conservative_ ? 4 : 1; }

 private:
  void start_round();

  bool active_ = true;
  bool conservative_ = false;  // "conservative slow start", CSS
  PacketNumber last_sent_ = 0;
  PacketNumber round_end_ = 0;
  Duration last_round_minimum_ = Duration::max();
  Duration round_minimum_ = Duration::max();
  Duration baseline_ = Duration::max();
  std::uint32_t samples_ = 0;
  std::uint32_t conservative_rounds_ = 0;
};

}  // namespace sheaf::quic
