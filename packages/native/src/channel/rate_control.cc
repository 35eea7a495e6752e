#include "channel/rate_control.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sheaf::quic {
namespace {

// In the slow start the rate doubles in this time.
constexpr Duration k_doubling = 500ms;
constexpr Duration k_shortest_round_trip = 1ms;
// Growth for a longer time without reports would be a guess.
constexpr Duration k_longest_growth = 1s;

}  // namespace

double tcp_rate(std::size_t packet_size, Duration round_trip, double loss_events) {
  const double p = loss_events;
  // A timeout takes four round trips, as the RFC recommends.
  const double round_trips =
      std::sqrt(2 * p / 3) + 12 * std::sqrt(3 * p / 8) * p * (1 + 32 * p * p);
  return static_cast<double>(packet_size) / (to_seconds(round_trip) * round_trips);
}

double loss_events_at(std::size_t packet_size, Duration round_trip, double rate) {
  double low = 1e-9;
  double high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = std::sqrt(low * high);
    (tcp_rate(packet_size, round_trip, middle) > rate ? low : high) = middle;
  }
  return high;
}

void RateControl::on_report(std::size_t id, const ChannelReport& report, const Way& way, Time now) {
  if (is_constant()) return;
  Receiver& receiver = receivers_[id];
  const Duration round_trip = std::max(way.round_trip, k_shortest_round_trip);
  const bool has_lost = receiver.losses.on_report(report, way.log, round_trip, now) > 0;
  if (has_lost && !receiver.losses.has_interval()) {
    // What came before says little: the rate may have been far from what the way can carry.
    const double share =
        loss_events_at(limits_.packet_size, round_trip, static_cast<double>(rate_) / 2);
    receiver.losses.begin_with(static_cast<std::uint32_t>(std::min(1 / share, 1e9)));
  }
  has_lost_ = has_lost_ || has_lost;
  const double share = receiver.losses.rate(way.sent_end);
  const double permitted = share > 0 ? tcp_rate(limits_.packet_size, round_trip, share)
                                     : static_cast<double>(limits_.fastest);
  const bool is_below = permitted < static_cast<double>(limits_.slowest);
  if (!is_below) receiver.below_since = k_never;
  if (is_below && receiver.below_since == k_never) receiver.below_since = now;

  if (slowest_ == k_nobody || permitted < permitted_) slowest_ = id;
  if (slowest_ != id) return;
  permitted_ = permitted;
  grow(round_trip, now);
  const double bounded = std::clamp(permitted, static_cast<double>(limits_.slowest),
                                    static_cast<double>(limits_.fastest));
  rate_ = std::min(rate_, static_cast<std::uint64_t>(bounded));
}

// Before the first loss the rate doubles again and again. Later it grows by one packet in each
// round trip, and the rate that the receiver permits bounds it.
void RateControl::grow(Duration round_trip, Time now) {
  const Duration elapsed = std::min<Duration>(now - grown_, k_longest_growth);
  grown_ = now;
  if (!std::exchange(used_, false)) return;
  const double rate = static_cast<double>(rate_);
  const double round_trips = to_seconds(elapsed) / to_seconds(round_trip);
  const double grown = has_lost_ ? rate + round_trips * static_cast<double>(limits_.packet_size) /
                                              to_seconds(round_trip)
                                 : rate * std::exp2(to_seconds(elapsed) / to_seconds(k_doubling));
  rate_ = static_cast<std::uint64_t>(std::min(grown, static_cast<double>(limits_.fastest)));
}

}  // namespace sheaf::quic
