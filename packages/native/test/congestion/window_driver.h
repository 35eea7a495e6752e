#pragma once

#include "congestion/controller.h"

namespace sheaf::quic {

inline constexpr std::uint64_t k_datagram = 1200;

inline Time at_ms(std::int64_t milliseconds) {
  return Time(std::chrono::milliseconds(milliseconds));
}

// Drives a controller by whole windows: sends one, and acknowledges every second packet of it a
// round trip later.
class WindowDriver {
 public:
  explicit WindowDriver(CongestionController& controller) : controller_(controller) {}

  Time now = at_ms(1000);
  Duration rtt = std::chrono::milliseconds(100);
  bool application_limited = false;

  void round() {
    const PacketNumber first = next_;
    const std::uint64_t packets = std::max<std::uint64_t>(controller_.window() / k_datagram, 2);
    const Time sent = now;
    for (std::uint64_t i = 0; i < packets; ++i) {
      controller_.on_packet_sent(now, next_++, k_datagram, (i + 1) * k_datagram);
    }
    now += rtt;
    for (std::uint64_t i = 1; i < packets; i += 2) acknowledge(first + i, sent, packets - i + 1);
  }
  void lose(bool persistent = false) {
    const Time sent = now;
    controller_.on_packet_sent(now, next_, k_datagram, k_datagram);
    now += rtt;
    controller_.on_congestion({.now = now,
                               .lost_bytes = k_datagram,
                               .largest_lost = next_++,
                               .largest_lost_time_sent = sent,
                               .persistent = persistent});
  }
  void mark(Time sent) {
    controller_.on_congestion(
        {.now = now, .largest_lost = next_, .largest_lost_time_sent = sent, .ecn = true});
  }

 private:
  void acknowledge(PacketNumber largest, Time sent, std::uint64_t packets_in_flight) {
    controller_.on_acknowledgement({.now = now,
                                    .acknowledged_bytes = 2 * k_datagram,
                                    .bytes_in_flight_before = packets_in_flight * k_datagram,
                                    .largest_acknowledged = largest,
                                    .largest_time_sent = sent,
                                    .smallest_rtt = now - sent,
                                    .rtt_samples = 1,
                                    .min_rtt = now - sent,
                                    .smoothed_rtt = now - sent,
                                    .application_limited = application_limited});
  }

  CongestionController& controller_;
  PacketNumber next_ = 0;
};

}  // namespace sheaf::quic
