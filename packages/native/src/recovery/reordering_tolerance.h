#pragma once

#include <algorithm>

#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// How far packets may overtake each other before the overtaken ones count as lost. It starts with
// the packet threshold of RFC 9002 §6.1.1.
class ReorderingTolerance {
 public:
  // Says that packets overtake each other on the way, by up to this time, as behind a tunnel that
  // sends lost ones again (TECC, NSDI 2024, §4.2.1). The packet threshold grows from now on with
  // each loss that was none.
  void expect(Duration delay) {
    delay_ = delay;
    adapts_ = true;
  }
  // A packet that counted as lost was acknowledged, so many numbers behind the largest one.
  void on_spurious_loss(PacketNumber behind) {
    if (adapts_) packet_threshold_ = std::clamp(behind + 1, packet_threshold_, k_max_threshold);
  }

  PacketNumber packet_threshold() const { return packet_threshold_; }
  // What the time threshold is longer by
  Duration delay() const { return delay_; }

 private:
  static constexpr PacketNumber k_max_threshold = 4096;

  PacketNumber packet_threshold_ = 3;  // kPacketThreshold of RFC 9002 §6.1.1
  Duration delay_{};
  bool adapts_ = false;
};

}  // namespace sheaf::quic
