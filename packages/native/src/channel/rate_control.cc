#include "channel/rate_control.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sheaf::quic {
namespace {

// The rate doubles in this time, at most, and with one report.
constexpr Duration k_doubling = 500ms;
// After so much time without a loss the rate may double again.
constexpr Duration k_calm = 10s;
// Round trips are believed within these bounds.
constexpr Duration k_shortest_round_trip = 1ms;
constexpr Duration k_longest_round_trip = 10s;
// Who says that it is far away does not stop the growth for others.
constexpr Duration k_longest_growth_round_trip = 500ms;

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

void RateControl::begin(std::size_t id, PacketNumber sent_end) {
  if (is_constant() || receivers_[id].losses.begun()) return;
  receivers_[id].losses.begin(sent_end);
  receivers_[id].below_since = k_never;
  if (++relying_ > 1) return;
  // What the group's ways carry is not known any more.
  rate_ = limits_.slowest;
  calm_ = {};
}

void RateControl::forget(std::size_t id) {
  if (is_constant() || !receivers_[id].losses.begun()) return;
  receivers_[id].losses.stop();
  permitted_.forget(id);
  --relying_;
}

void RateControl::on_report(std::size_t id, const ChannelReport& report, const Way& way, Time now) {
  if (is_constant()) return;
  Receiver& receiver = receivers_[id];
  const Duration round_trip =
      std::clamp<Duration>(way.round_trip, k_shortest_round_trip, k_longest_round_trip);
  const bool had_lost = receiver.losses.any();
  if (receiver.losses.on_report(report, way.log, round_trip, now) > 0) {
    calm_ = now + k_calm;
    if (!had_lost) receiver.losses.add_first_interval(first_interval(round_trip));
  }
  const double share = receiver.losses.rate(way.sent_end);
  const double fastest = static_cast<double>(limits_.fastest);
  const double slowest = static_cast<double>(limits_.slowest);
  const double rate = share > 0 ? tcp_rate(limits_.packet_size, round_trip, share) : fastest;
  if (rate >= slowest) receiver.below_since = k_never;
  if (rate < slowest && receiver.below_since == k_never) receiver.below_since = now;

  if (rate < fastest) {
    permitted_.set({id, rate, round_trip, now});
  } else {
    permitted_.forget(id);
  }
  permitted_.forget_silent(
      now - std::max<Duration>(k_silent_intervals * limits_.report_interval, k_patience));
  grow(round_trip, now);
  if (const PermittedRate* lowest = permitted_.lowest()) {
    rate_ = std::min(rate_, static_cast<std::uint64_t>(std::max(lowest->rate, slowest)));
  }
}

// Before the first loss, the way's share of events is that at which TCP has half of the rate (RFC
// 5348 §6.3.1). One event alone is no reason to serve a receiver by copies.
std::uint32_t RateControl::first_interval(Duration round_trip) const {
  const double rate =
      std::max(static_cast<double>(rate_) / 2, static_cast<double>(limits_.slowest));
  const double share = loss_events_at(limits_.packet_size, round_trip, rate);
  return static_cast<std::uint32_t>(std::min(std::ceil(1 / share), 1e9));
}

// While nobody limits the rate, it doubles again and again. Otherwise, and soon after a loss, it
// grows by one packet in each round trip, but no faster.
void RateControl::grow(Duration round_trip, Time now) {
  if (!used_ || now < grown_ + limits_.report_interval) return;
  used_ = false;
  const Duration elapsed = std::min<Duration>(now - std::exchange(grown_, now), k_doubling);
  const double rate = static_cast<double>(rate_);
  double grown = rate * std::exp2(to_seconds(elapsed) / to_seconds(k_doubling));
  const PermittedRate* lowest = permitted_.lowest();
  if (lowest != nullptr || now < calm_) {
    const double each = to_seconds(
        std::min(lowest != nullptr ? lowest->round_trip : round_trip, k_longest_growth_round_trip));
    const double packets = to_seconds(elapsed) / each / each;
    grown = std::min(grown, rate + packets * static_cast<double>(limits_.packet_size));
  }
  rate_ = static_cast<std::uint64_t>(std::min(grown, static_cast<double>(limits_.fastest)));
}

}  // namespace sheaf::quic
