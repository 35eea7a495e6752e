#pragma once

#include <vector>

#include "channel/loss_events.h"
#include "channel/permitted_rates.h"

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
    Duration report_interval;
  };
  explicit RateControl(const Limits& limits) : limits_(limits), rate_(limits.slowest) {}

  // Bytes per second. Where nobody relies on the group, nobody limits the rate of copies.
  // `is_tried`: members joined the group, and are not known to hear it. It begins slowly for them.
  std::uint64_t rate(bool is_tried) const {
    if (relying_ > 0) return rate_;
    return is_tried ? limits_.slowest : limits_.fastest;
  }

  void add_receiver(std::size_t id) {
    if (is_constant()) return;  // and nothing is remembered of receivers
    if (id >= receivers_.size()) receivers_.resize(id + 1);
    receivers_[id] = {};
  }
  // A receiver relies on the group from packet `sent_end` on, unless it does already.
  void begin(std::size_t id, PacketNumber sent_end);
  // A receiver left, or does not rely on the group: the rate is none of its business.
  void forget(std::size_t id);
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
  static constexpr Duration k_patience = 3s;
  // After so many report intervals, and k_patience, a receiver is silent. One that misses nothing
  // reports sooner.
  static constexpr int k_silent_intervals = 10;

  struct Receiver {
    LossEvents losses;
    Time below_since = k_never;
  };
  // With what else a source remembers of a receiver: 2 KiB together
  static_assert(sizeof(Receiver) <= 72);

  bool is_constant() const { return limits_.slowest == limits_.fastest; }
  std::uint32_t first_interval(Duration round_trip) const;
  void grow(Duration round_trip, Time now);

  Limits limits_;
  std::uint64_t rate_;
  std::vector<Receiver> receivers_;  // by id
  std::size_t relying_ = 0;          // receivers that rely on the group
  PermittedRates permitted_;
  Time calm_{};  // when no loss was reported for long
  bool used_ = false;
  Time grown_{};
};

// Returns bytes per second of a TCP connection (RFC 5348 §3.1) with this share of loss events,
// above 0 and at most 1.
double tcp_rate(std::size_t packet_size, Duration round_trip, double loss_events);

// Returns the share of loss events at which a TCP connection is that fast.
double loss_events_at(std::size_t packet_size, Duration round_trip, double rate);

}  // namespace sheaf::quic
