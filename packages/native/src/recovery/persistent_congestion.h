#pragma once

#include <optional>

#include "recovery/sent_packets.h"
#include "util/time.h"

namespace sheaf::quic {

// Detects persistent congestion (RFC 9002 §7.6): two ack-eliciting packets were lost, no packet
// sent between them was acknowledged, and they were sent further apart than three probe timeouts.
// Takes every packet once, in order, when its fate is known.
class PersistentCongestion {
 public:
  // RFC 9002 §7.6.2: packets sent before the first RTT sample do not count.
  void on_rtt_sample(Time now) {
    if (first_sample_ == k_never) first_sample_ = now;
  }
  // Returns true when this packet establishes persistent congestion. `duration` is that of RFC 9002
  // §7.6.1.
  bool on_settled(const SentPacket& packet, Duration duration) {
    if (packet.state == SentPacket::State::kAcknowledged) run_start_.reset();
    if (packet.state != SentPacket::State::kLost || !packet.ack_eliciting || packet.mtu_probe ||
        packet.time_sent <= first_sample_) {
      return false;
    }
    if (!run_start_) run_start_ = packet.time_sent;
    if (packet.time_sent - *run_start_ <= duration) return false;
    run_start_.reset();
    return true;
  }
  // Called when a packet counted as lost arrived after all, or when the path leads elsewhere.
  void break_run() { run_start_.reset(); }

 private:
  Time first_sample_ = k_never;
  std::optional<Time> run_start_;  // send time of the first packet in an unbroken run of losses
};

}  // namespace sheaf::quic
