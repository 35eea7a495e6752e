#pragma once

#include "util/time.h"

namespace sheaf::quic {

// RFC 9002 §7.7: a token bucket; bursts are bounded by a batch of packets.
class Pacer {
 public:
  // `rate` in bytes per second; 0 = unpaced.
  void set_rate(std::uint64_t rate, std::uint64_t max_datagram_size, Time now);
  // Bytes that may leave now.
  std::uint64_t budget(Time now) const;
  void on_sent(std::uint64_t bytes, Time now);
  // When at least one datagram fits.
  Time next_send_time(Time now) const;

 private:
  std::uint64_t rate_ = 0;
  // The owner of this file completes the private state.
};

}  // namespace sheaf::quic
