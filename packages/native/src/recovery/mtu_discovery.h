#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "util/time.h"

namespace sheaf::quic {

// DPLPMTUD (RFC 8899, applied to QUIC by RFC 9000 §14.3). Sizes are UDP payload bytes. Tries the
// maximum first unless it is told another size, since most paths carry it, then halves the
// interval. The size of jumbo frames is tried apart and only when the owner has reason to: no other
// size above the maximum is common.
class MtuDiscovery {
 public:
  static constexpr std::uint16_t k_base = 1200;
  // `maximum` is the smaller of the limits of the local interface and the peer's
  // max_udp_payload_size; a maximum <= k_base turns discovery off. `jumbo` is the size for
  // `try_jumbo`; a size not much above the maximum turns that off.
  MtuDiscovery(std::uint16_t initial, std::uint16_t maximum, std::uint16_t jumbo = 0);
  std::uint16_t current() const { return current_; }
  // The part of the current size that does not depend on jumbo frames.
  std::uint16_t ordinary() const { return std::min(current_, ordinary_); }
  // The size that pacing counts for a probe: no more than a packet without jumbo frames.
  std::uint16_t paced_as(std::uint16_t probe) const { return std::min(probe, ordinary_); }
  // Returns the size of the probe that should go now; nothing while a probe is outstanding or the
  // search rests. Needs no timer: a probe is sent when the connection sends anyway, and RFC 8899
  // §5.1.1 wants none on an idle connection.
  std::optional<std::uint16_t> probe_due(Time now) const;
  void on_probe_sent(std::uint16_t size, Time now);
  void on_probe_acknowledged(std::uint16_t size, Time now);
  void on_probe_lost(std::uint16_t size, Time now);
  // Something of this size has arrived on the path before discovery began.
  void on_carried(std::uint16_t size);
  // Makes this size the first probe's, when it is a gain. The maximum follows.
  void try_first(std::uint16_t size);
  // Makes the size of jumbo frames the next probe's, once the path carries the maximum. Works only
  // once.
  void try_jumbo();
  // `largest` is the size of the largest packet that one ACK acknowledged, or of the largest packet
  // among those lost together; `sent` is the time at which that packet was sent.
  void on_acknowledged(std::uint16_t largest);
  void on_lost(std::uint16_t largest, Time sent, Time now);
  // Called when full-size packets no longer arrive: black hole detection (RFC 8899 §4.3).
  void on_black_hole(Time now);

 private:
  void search(Time now);

  std::uint16_t current_;
  std::uint16_t maximum_;
  std::uint16_t ordinary_;       // the maximum without jumbo frames
  std::uint16_t jumbo_;          // 0 = none, or already tried
  std::uint16_t too_large_;      // the smallest size known not to arrive
  std::uint16_t candidate_ = 0;  // size of the next probe; 0 = the search rests
  std::uint8_t losses_ = 0;      // lost probes of the candidate's size
  std::uint8_t suspicions_ = 0;  // flights that lost jumbo frames since one arrived
  Time suspected_at_ = Time::min();
  bool probe_outstanding_ = false;
  Time resume_at_ = k_never;
};

}  // namespace sheaf::quic
