#pragma once

#include <algorithm>
#include <cstdint>

#include "util/time.h"

namespace sheaf::quic {

// How far the clock of a channel's source is ahead at most (RFC 4082 §3.3.1, direct
// synchronisation). A member sends a nonce, and the source responds with it and its time. Whatever
// the ways took, the source had that time after the nonce was sent.
class ClockBound {
 public:
  // `answered` is the source's time in the response to a nonce that was sent at `sent` of this
  // clock.
  void on_answer(Time sent, Time answered) {
    const Duration ahead = answered - sent;
    if (!measured_ || ahead <= bound_at(sent)) {
      ahead_ = ahead;
      at_ = sent;
      measured_ = true;
    }
  }
  // Whether the source's clock has shown a time by `now` that it could not show: one of both clocks
  // jumped or stood still, or they drift apart faster than is allowed for. A bound may stay that is
  // wrong by less than the response was on its way.
  bool is_disproved_by(Time answered, Time now) const {
    return measured_ && answered > source_time(now);
  }
  void forget() {
    measured_ = false;
    ++forgotten_;
  }
  // How many bounds were forgotten. What one of them permitted may be forged.
  std::uint64_t forgotten() const { return forgotten_; }
  bool known() const { return measured_; }
  // The latest time that the source's clock can show now
  Time source_time(Time now) const { return now + bound_at(now); }

 private:
  // Two clocks are taken to drift apart by so much: ntpd and systemd-timesyncd adjust each of them
  // by up to 500 parts per million, and crystals are off by less than that. A program that adjusts
  // a clock faster, as chrony may do after its start, makes the bound wrong until the next
  // response.
  static constexpr std::int64_t k_drift_parts = 1000;

  Duration bound_at(Time now) const {
    return ahead_ + std::max(Duration{}, now - at_) / k_drift_parts;
  }

  bool measured_ = false;
  std::uint64_t forgotten_ = 0;
  Duration ahead_{};
  Time at_{};
};

}  // namespace sheaf::quic
