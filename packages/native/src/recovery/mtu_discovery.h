#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "util/time.h"

namespace sheaf::quic {

// RFC 8899 (DPLPMTUD) over RFC 9000 §14.3. Sizes are UDP payload bytes. Tries the maximum first,
// since most paths carry it, then halves the interval. Jumbo frames are tried apart, where whoever
// owns it has reason to: all or nothing, as no other size above the maximum is common.
class MtuDiscovery {
 public:
  static constexpr std::uint16_t k_base = 1200;
  // `maximum`: of the local interface and the peer's max_udp_payload_size; <= base switches it off.
  // `jumbo`: for `try_jumbo`; not much above the maximum switches that off.
  MtuDiscovery(std::uint16_t initial, std::uint16_t maximum, std::uint16_t jumbo = 0);
  std::uint16_t current() const { return current_; }
  // What of it does not depend on jumbo frames.
  std::uint16_t ordinary() const { return std::min(current_, ordinary_); }
  // A probe of this size goes as if it were no larger than packets without jumbo frames.
  std::uint16_t paced_as(std::uint16_t probe) const { return std::min(probe, ordinary_); }
  // Size of the probe that should go now; nothing while one is out or the search rests. Needs no
  // timer: a probe rides along when the connection sends, and RFC 8899 §5.1.1 wants none on an idle
  // one.
  std::optional<std::uint16_t> probe_due(Time now) const;
  void on_probe_sent(std::uint16_t size, Time now);
  void on_probe_acknowledged(std::uint16_t size, Time now);
  void on_probe_lost(std::uint16_t size, Time now);
  // The maximum is carried: the size of jumbo frames is the next probe's. Once; no more after that.
  void try_jumbo();
  // The largest of the packets that one ACK acknowledged, and of those that were lost together,
  // with the time at which it was sent.
  void on_acknowledged(std::uint16_t largest);
  void on_lost(std::uint16_t largest, Time sent, Time now);
  // Black hole detection (RFC 8899 §4.3): full-size packets do not arrive any more.
  void on_black_hole(Time now);

 private:
  void search(Time now);

  std::uint16_t current_;
  std::uint16_t maximum_;
  std::uint16_t ordinary_;       // the maximum without jumbo frames
  std::uint16_t jumbo_;          // not tried yet; 0 = none
  std::uint16_t too_large_;      // smallest size that is known not to arrive
  std::uint16_t candidate_ = 0;  // next probe's size; 0 = the search rests
  std::uint8_t losses_ = 0;      // of probes of the candidate's size
  std::uint8_t suspicions_ = 0;  // flights in which jumbo frames were lost since one arrived
  Time suspected_at_ = Time::min();
  bool probe_outstanding_ = false;
  Time resume_at_ = k_never;
};

}  // namespace sheaf::quic
