#pragma once

#include <algorithm>

#include "congestion/window_driver.h"

namespace sheaf::quic {

// Emulates a path of 1 MB/s and 100 ms. A whole window is sent and acknowledged at once, so that
// every call is one round trip. Data beyond the capacity of the path waits, and the round trip
// grows.
class EmulatedPath {
 protected:
  explicit EmulatedPath(CongestionController& controller) : controller_(controller) {}

  static constexpr double k_path = 100'000;  // bytes

  // Runs one round with `in_flight` bytes, of which a share is lost in several places.
  void round(double volume, double lost_share = 0) {
    const std::uint64_t packets =
        std::max<std::uint64_t>(static_cast<std::uint64_t>(volume) / k_datagram, 4);
    const std::uint64_t in_flight = packets * k_datagram;
    const std::uint64_t lost_packets =
        static_cast<std::uint64_t>(static_cast<double>(packets) * lost_share + 0.5);
    const std::uint64_t delivered_at_send = delivered_;
    controller_.on_packet_sent(now_, number_, k_datagram, in_flight);
    const Duration queueing{
        static_cast<std::int64_t>(std::max(static_cast<double>(in_flight) - k_path, 0.0) * 1e3)};
    const Duration rtt = base_rtt_ + queueing;
    now_ += rtt;
    delivered_ += (packets - lost_packets) * k_datagram;
    for (std::uint64_t i = 0; i < lost_packets; ++i) {
      controller_.on_packet_lost({.now = now_,
                                  .time_sent = now_ - rtt,
                                  .number = number_ + 2 * i,
                                  .bytes = k_datagram,
                                  .in_flight_at_send = in_flight,
                                  .lost_since_send = (i + 1) * k_datagram,
                                  .delivered = delivered_,
                                  .application_limited = application_limited_});
    }
    number_ += 2 * packets;
    if (lost_packets > 0) {
      controller_.on_congestion({.now = now_, .lost_bytes = lost_packets * k_datagram});
    }
    controller_.on_acknowledgement({.now = now_,
                                    .acknowledged_bytes = (packets - lost_packets) * k_datagram,
                                    .bytes_in_flight_before = in_flight,
                                    .bytes_in_flight = remains_in_flight_,
                                    .largest_acknowledged = number_,
                                    .largest_time_sent = now_ - rtt,
                                    .smallest_rtt = rtt,
                                    .rtt_samples = 1,
                                    .min_rtt = base_rtt_,
                                    .smoothed_rtt = rtt,
                                    .delivery_rate = static_cast<std::uint64_t>(
                                        static_cast<double>(delivered_ - delivered_at_send) /
                                        std::chrono::duration<double>(rtt).count()),
                                    .delivery_rate_application_limited = application_limited_,
                                    .delivered = delivered_,
                                    .delivered_at_send = delivered_at_send,
                                    .in_flight_at_send = in_flight,
                                    .lost_since_send = lost_packets * k_datagram,
                                    .application_limited = application_limited_});
  }
  // Sends as much as window and pacing allow.
  void full_round(double lost_share = 0) {
    const double paced = static_cast<double>(controller_.pacing_rate()) *
                         std::chrono::duration<double>(base_rtt_).count();
    round(std::min(static_cast<double>(controller_.window()), paced), lost_share);
  }

  CongestionController& controller_;
  Time now_ = at_ms(1000);
  Duration base_rtt_ = 100ms;
  PacketNumber number_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t remains_in_flight_ = 0;
  bool application_limited_ = false;
};

}  // namespace sheaf::quic
