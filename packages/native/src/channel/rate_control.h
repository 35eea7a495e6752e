#pragma once

#include <vector>

#include "channel/loss_events.h"

namespace sheaf::quic {

// Where nobody has measured one
inline constexpr Duration k_usual_round_trip = 100ms;

// How fast a source sends to its group: as TCP would send to the worst of the receivers that it
// accepts (TFMCC, RFC 4654). Differs from the RFC in that the source computes what receivers
// compute there, from the reports by which they ask for repairs, and takes the round trip of their
// connections for that of the group.
//
// A receiver to which TCP would send less than the slowest rate is not accepted: the source serves
// it by copies, whose way has a congestion control of its own.
class RateControl {
 public:
  struct Limits {
    std::uint64_t slowest;  // bytes per second
    std::uint64_t fastest;  // as slowest: the rate never changes
    std::size_t packet_size;
  };
  explicit RateControl(const Limits& limits) : limits_(limits), rate_(limits.slowest) {}

  // Bytes per second
  std::uint64_t rate() const { return rate_; }

  void add_receiver(std::size_t id) {
    if (is_constant()) return;  // and nothing is remembered of receivers
    if (id >= receivers_.size()) receivers_.resize(id + 1);
    receivers_[id] = {};
  }
  // A receiver left, or does not rely on the group any more: the rate is none of its business.
  void forget(std::size_t id) {
    if (id == slowest_) slowest_ = k_nobody;
  }
  // A receiver relies on the group from packet `sent_end` on.
  void begin(std::size_t id, PacketNumber sent_end) {
    if (is_constant()) return;
    receivers_[id].losses.begin(sent_end);
    receivers_[id].below_since = k_never;
  }
  struct Way {
    const PacketRing& log;  // knows when packets were sent
    PacketNumber sent_end;  // one above the last packet
    Duration round_trip;    // of the receiver's connection
  };
  // A receiver that relies on the group reported.
  void on_report(std::size_t id, const ChannelReport& report, const Way& way, Time now);
  // Packets waited for the rate. One that nobody uses does not grow (RFC 5348 §4.3).
  void on_used() { used_ = true; }
  // Whether the receiver has needed a slower rate than the slowest for some time
  bool is_too_slow(std::size_t id, Time now) const {
    if (is_constant()) return false;
    const Time since = receivers_[id].below_since;
    return since != k_never && now >= since + k_patience;
  }

 private:
  static constexpr std::size_t k_nobody = SIZE_MAX;
  static constexpr Duration k_patience = 3s;

  struct Receiver {
    LossEvents losses;
    Time below_since = k_never;
  };
  bool is_constant() const { return limits_.slowest == limits_.fastest; }
  void grow(Duration round_trip, Time now);

  Limits limits_;
  std::uint64_t rate_;
  std::vector<Receiver> receivers_;  // by id
  // The current limiting receiver of RFC 4654, and the rate that it permits
  std::size_t slowest_ = k_nobody;
  double permitted_ = 0;
  bool has_lost_ = false;  // which ended the slow start
  bool used_ = false;
  Time grown_{};
};

// Returns bytes per second of a TCP connection (RFC 5348 §3.1) with this share of loss events,
// above 0 and at most 1.
double tcp_rate(std::size_t packet_size, Duration round_trip, double loss_events);

// Returns the share of loss events at which a TCP connection is that fast.
double loss_events_at(std::size_t packet_size, Duration round_trip, double rate);

}  // namespace sheaf::quic
