#pragma once

#include <array>

#include "channel/channel_messages.h"
#include "channel/packet_ring.h"

namespace sheaf::quic {

// How often a receiver of the group loses something, by its reports: the loss event rate of RFC
// 5348 §5, which a receiver computes there. Losses within a round trip are one event. What another
// receiver's repair brings before a report names it is one event in a report, however much it was.
class LossEvents {
 public:
  // Losses count from the packet `sent_end` on.
  void begin(PacketNumber sent_end) {
    *this = {};
    counted_ = sent_end;
  }
  // No loss counts until the next begin.
  void stop() { *this = {}; }
  bool begun() const { return counted_ != k_no_packet_number; }
  // Returns how many events began. `log` knows when packets were sent.
  std::uint32_t on_report(const ChannelReport& report, const PacketRing& log, Duration round_trip,
                          Time now);
  // Whether there was an event
  bool any() const { return event_ != k_no_packet_number; }
  // Chooses the interval before the first event (RFC 5348 §6.3.1), after the first report that has
  // any: so many packets, at least 1.
  void add_first_interval(std::uint32_t packets);
  // Events for each packet, at most 1; 0: there was none. `sent_end` is one above the last packet.
  double rate(PacketNumber sent_end) const;

 private:
  static constexpr std::size_t k_intervals = 8;
  static constexpr std::uint64_t k_unknown = UINT64_MAX;

  bool count(PacketNumber number, Time sent, Duration round_trip);

  // Lower ones are part of an event, or of none.
  PacketNumber counted_ = k_no_packet_number;
  std::uint64_t lost_ = k_unknown;  // the total of losses that were counted, as reports have it
  PacketNumber event_ = k_no_packet_number;             // the first packet of the last one
  Time event_sent_{};                                   // when that was sent
  std::array<std::uint32_t, k_intervals> intervals_{};  // packets between events, the newest first
};

}  // namespace sheaf::quic
