#pragma once

#include <cstdint>
#include <optional>

#include "util/time.h"

namespace sheaf::quic {

// RFC 8899 (DPLPMTUD) over RFC 9000 §14.3. Sizes are UDP payload bytes.
class MtuDiscovery {
 public:
  static constexpr std::uint16_t k_base = 1200;
  // `maximum`: of the local interface and the peer's max_udp_payload_size; <= base switches it off.
  MtuDiscovery(std::uint16_t initial, std::uint16_t maximum);
  std::uint16_t current() const { return current_; }
  // Size of the probe that should go now; nothing while one is out or the search rests.
  std::optional<std::uint16_t> probe_due(Time now) const;
  void on_probe_sent(std::uint16_t size, Time now);
  void on_probe_acknowledged(std::uint16_t size, Time now);
  void on_probe_lost(std::uint16_t size, Time now);
  // Black hole detection (RFC 8899 §4.3): full-size packets were lost in persistent congestion.
  void on_black_hole(Time now);
  Time next_timeout() const;

 private:
  std::uint16_t current_ = k_base;
  // The owner of this file completes the private state.
};

}  // namespace sheaf::quic
