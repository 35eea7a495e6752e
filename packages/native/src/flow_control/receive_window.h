#pragma once

#include <cstdint>

#include "util/time.h"

namespace sheaf::quic {

// What we let the peer send on a stream or on the connection, in bytes (RFC 9000 §4.1). The window
// doubles when half of it is consumed within two round trips: the peer may then be waiting for
// credit rather than for the path. An application that reads slowly never grows it.
class ReceiveWindow {
 public:
  ReceiveWindow() = default;
  ReceiveWindow(std::uint64_t initial, std::uint64_t maximum);

  std::uint64_t limit() const { return limit_; }        // highest byte count that is allowed
  std::uint64_t received() const { return received_; }  // counted by highest offset
  std::uint64_t consumed() const { return consumed_; }
  std::uint64_t window() const { return window_; }

  bool allows(std::uint64_t bytes) const { return bytes <= limit_ - received_; }
  void receive(std::uint64_t bytes, Time now) {
    if (received_ == 0) last_update_ = now;
    received_ += bytes;
  }
  // Gives credit back. `rtt` is zero while unmeasured: no growth then. True when the limit moved
  // and should be announced.
  bool consume(std::uint64_t bytes, Time now, Duration rtt);
  // The limit to put into a frame: all the credit there is by now.
  std::uint64_t announce();
  // The connection's window must carry what one stream's may. Takes effect with the next update.
  void widen(std::uint64_t window);

 private:
  std::uint64_t limit_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t consumed_ = 0;
  std::uint64_t window_ = 0;
  std::uint64_t maximum_ = 0;
  Time last_update_{};
};

}  // namespace sheaf::quic
