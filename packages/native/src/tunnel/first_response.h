#pragma once

#include <optional>

#include "util/time.h"

namespace sheaf::tunnel {

using quic::Duration;
using quic::Time;

// Measures how long the first packet of a tunnel waits for the first one in the other direction.
// For protocols that answer at once, such as QUIC, this is a round trip inside of the tunnel.
class FirstResponse {
 public:
  enum class Direction : std::uint8_t { kToTarget, kToClient };

  bool measured() const { return measured_; }
  // Returns the time when this packet is the response.
  std::optional<Duration> on_packet(Direction direction, Time now) {
    if (!asked_at_) {
      asked_at_ = now;
      asked_ = direction;
      return std::nullopt;
    }
    if (measured_ || direction == asked_) return std::nullopt;
    measured_ = true;
    return now - *asked_at_;
  }

 private:
  std::optional<Time> asked_at_;
  Direction asked_ = Direction::kToTarget;
  bool measured_ = false;
};

// The first responses of many tunnels, of which later ones count more.
class FirstResponses {
 public:
  void add(Duration response) {
    smoothed_ = smoothed_ ? (7 * *smoothed_ + response) / 8 : response;
  }
  const std::optional<Duration>& smoothed() const { return smoothed_; }

 private:
  std::optional<Duration> smoothed_;
};

}  // namespace sheaf::tunnel
