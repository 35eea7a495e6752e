#pragma once

#include <algorithm>

#include "congestion/controller.h"

namespace sheaf::quic::bbr {

// Sums up what the path delivered and lost in the current round trip (draft-ietf-ccwg-bbr
// §5.5.10.3). These rounds begin with the first loss, so that a whole round trip is known before
// the response.
class DeliverySignals {
 public:
  void on_packet_lost(const LostPacket& packet) {
    if (packet.number != last_lost_ + 1 || lost_ranges_ == 0) ++lost_ranges_;
    last_lost_ = packet.number;
    lost_ += packet.bytes;
    note_congestion(packet.delivered);
  }
  // Notes CE marks in place of loss.
  void on_mark(std::uint64_t delivered) {
    marked_ = true;
    note_congestion(delivered);
  }
  // Call this near the start of the work on an acknowledgement.
  void on_acknowledgement(const AckSample& sample) {
    rate_ = std::max(rate_, static_cast<double>(sample.delivery_rate));
    volume_ = std::max(volume_, volume_of(sample));
    round_ended_ = sample.delivered_at_send >= round_end_;
    if (round_ended_) round_end_ = sample.delivered;
  }
  // Call this at the end of that work.
  void finish(const AckSample& sample) {
    if (!round_ended_) return;
    rate_ = static_cast<double>(sample.delivery_rate);
    volume_ = volume_of(sample);
    lost_ranges_ = 0;
    lost_ = 0;
    marked_ = false;
  }
  void forgive() { congested_ = false; }
  void reset() {
    congested_ = false;
    rate_ = volume_ = 0;
  }

  bool round_ended() const { return round_ended_; }
  bool congested() const { return congested_; }
  bool marked() const { return marked_; }
  double rate() const { return rate_; }      // bytes per second, the round's maximum
  double volume() const { return volume_; }  // bytes delivered over one flight, the round's maximum
  // Number of runs of lost packets
  std::uint64_t lost_ranges() const { return lost_ranges_; }
  std::uint64_t lost() const { return lost_; }  // bytes

 private:
  void note_congestion(std::uint64_t delivered) {
    if (!congested_) round_end_ = delivered;
    congested_ = true;
  }
  static double volume_of(const AckSample& sample) {
    return static_cast<double>(sample.delivered - sample.delivered_at_send);
  }

  std::uint64_t round_end_ = 0;  // in bytes delivered
  bool round_ended_ = false;
  bool congested_ = false;
  bool marked_ = false;
  double rate_ = 0;
  double volume_ = 0;
  std::uint64_t lost_ranges_ = 0;
  std::uint64_t lost_ = 0;
  PacketNumber last_lost_ = 0;
};

}  // namespace sheaf::quic::bbr
