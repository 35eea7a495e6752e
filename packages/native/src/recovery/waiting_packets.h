#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "util/ring.h"
#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// Packets of the peer that wait before they are acknowledged. Chromium and quic-go ignore packets
// up to the largest number L of an ACK from when they learn that we know this ACK
// (docs/decisions/0022). Packets of other nodes with numbers below L may still be on their way to
// the peer. So whatever carried such an ACK is held back for as long as the slowest way exceeds the
// round trip. Later packets wait behind it, or the peer would take it for lost.
class WaitingPackets {
 public:
  // More than a peer sends while packets of other nodes lie up to 127 numbers apart. The oldest
  // leaves early when more come.
  static constexpr std::size_t k_max = 128;

  struct Packet {
    PacketNumber number = 0;
    Time arrived{};
    Time release{};
    Duration max_ack_delay{};
    Ecn ecn = Ecn::kNotEct;
    bool ack_eliciting = false;
  };

  void set_hold(Duration hold) { hold_ = hold; }
  // Returns whether the packet must wait. `confirms`: it carried an ACK with a number below which
  // something is on its way to the peer.
  bool must_wait(bool confirms) const {
    return !packets_.empty() || (confirms && hold_ > Duration::zero());
  }
  void push(Packet packet, bool confirms) {
    packet.release = packet.arrived;
    if (confirms) packet.release += std::min(hold_, packet.max_ack_delay);
    if (!packets_.empty()) packet.release = std::max(packet.release, packets_.back().release);
    if (packet.ack_eliciting) deadline_ = std::min(deadline_, packet.release);
    largest_ = std::max(largest_, std::optional(packet.number));
    packets_.push_back(packet);
  }
  // Calls `release` with each packet that has waited long enough, in the order of arrival.
  template <typename Release>
  void release_until(Time now, Release&& release) {
    bool any = false;
    while (!packets_.empty() && (packets_.front().release <= now || packets_.size() > k_max)) {
      const Packet packet = packets_.front();
      packets_.pop_front();
      release(packet);
      any = true;
    }
    if (any) find_deadline();
  }
  // Returns when the first ack-eliciting packet has waited long enough; k_never without one.
  Time deadline() const { return deadline_; }
  bool contains(PacketNumber number) const {
    for (std::size_t i = 0; i < packets_.size(); ++i) {
      if (packets_[i].number == number) return true;
    }
    return false;
  }
  // Returns the largest number that ever waited.
  std::optional<PacketNumber> largest() const { return largest_; }

 private:
  void find_deadline() {
    deadline_ = k_never;
    for (std::size_t i = 0; i < packets_.size() && deadline_ == k_never; ++i) {
      if (packets_[i].ack_eliciting) deadline_ = packets_[i].release;
    }
  }

  Ring<Packet> packets_;
  Duration hold_{};
  Time deadline_ = k_never;
  std::optional<PacketNumber> largest_;
};

}  // namespace sheaf::quic
