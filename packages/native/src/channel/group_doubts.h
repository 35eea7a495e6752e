#pragma once

#include <cstdint>

#include "util/time.h"

namespace sheaf::quic {

// Whether it is worth listening to the group. Outsiders can send to it, too, so a receiver that is
// given nothing but noise pauses, and copies by unicast go on meanwhile.
class GroupDoubts {
 public:
  // A packet came whose header is one of the channel. Nothing proves it yet.
  void on_packet(Time now) {
    // A group that was silent is given time to prove something: what was to prove the packets
    // before was lost with the group.
    if (now >= last_packet_ + k_silence) unproven_ = 0;
    if (unproven_ == 0) unproven_since_ = now;
    ++unproven_;
    last_packet_ = now;
  }
  void on_genuine(Time now) {
    unproven_ = 0;
    move_window(now);
    ++genuine_;
  }
  void on_forged(Time now) {
    move_window(now);
    ++forged_;
  }

  // Returns whether a pause begins now.
  bool begin_pause(Time now) {
    const bool is_noise = unproven_ >= k_min_unproven && last_packet_ >= unproven_since_ + k_window;
    const bool is_flooded = forged_ > k_max_forged && forged_ > genuine_ / k_forged_share;
    if (!is_noise && !is_flooded) return false;
    unproven_ = forged_ = genuine_ = 0;
    paused_until_ = now + k_pause;
    return true;
  }
  bool paused(Time now) const { return now < paused_until_; }
  // Ends a pause whose time is over.
  void on_timeout(Time now) {
    if (paused_until_ <= now) paused_until_ = Time{};
  }
  // When a pause ends. None begins without a packet.
  Time next_timeout() const { return paused_until_ != Time{} ? paused_until_ : k_never; }

 private:
  static constexpr Duration k_window = 2s;
  static constexpr Duration k_silence = 1s;
  static constexpr Duration k_pause = 10s;
  // Packets that have to come in a window or more, none of which is the source's
  static constexpr std::uint64_t k_min_unproven = 8;
  // More than so many forged packets in a window, and more than one for so many genuine ones
  static constexpr std::uint64_t k_max_forged = 1000;
  static constexpr std::uint64_t k_forged_share = 8;

  void move_window(Time now) {
    if (now < window_start_ + k_window) return;
    window_start_ = now;
    forged_ = genuine_ = 0;
  }

  std::uint64_t unproven_ = 0;  // packets since the last genuine one
  Time unproven_since_{};
  Time last_packet_{};
  Time window_start_{};
  std::uint64_t forged_ = 0;
  std::uint64_t genuine_ = 0;
  Time paused_until_{};
};

}  // namespace sheaf::quic
