#include "direct_return/arrival_order.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

constexpr int k_jitter_gain = 16;  // RFC 3550 §6.4.1
// Twice the mean difference covers nearly all of them.
constexpr int k_jitter_margin = 2;

constexpr std::size_t k_longest_run = 32;  // packets
constexpr std::size_t k_short_run = 8;
// Runs last so long at the connection's rate, if they are not too long or too short otherwise.
constexpr Duration k_longest_burst = 2ms;
constexpr Duration k_shortest_burst = 1ms;

std::uint64_t packets_in(Duration duration, std::uint64_t rate) {
  const double packets = to_seconds(duration) * static_cast<double>(rate);
  return packets >= 1e9 ? 1'000'000'000 : static_cast<std::uint64_t>(packets);
}

}  // namespace

void ArrivalOrder::begin_span(Time now) {
  if (span_began_ != Time::min() && now - span_began_ < k_span) return;
  const bool adjacent = span_began_ != Time::min() && now - span_began_ < 2 * k_span;
  // What a queue on the shared part of the way adds to the others' samples, it adds to those of a
  // sender that sent nothing meanwhile.
  const Duration grown = adjacent ? growth() : Duration::zero();
  for (Known& known : senders_) {
    if (known.current == Duration::max() && known.last != Duration::max()) known.last += grown;
    known.before = adjacent ? known.current : Duration::max();
    known.current = Duration::max();
  }
  span_began_ = now;
}

Duration ArrivalOrder::growth() const {
  Duration sum = Duration::zero();
  int senders = 0;
  for (const Known& known : senders_) {
    if (known.before == Duration::max() || known.current == Duration::max()) continue;
    sum += known.current - known.before;
    ++senders;
  }
  return senders == 0 ? Duration::zero() : sum / senders;
}

void ArrivalOrder::on_sample(Sender sender, Duration round_trip, Time now,
                             std::optional<Duration> ack_delay) {
  begin_span(now);
  Known& known = senders_[sender];
  known.current = std::min(known.current, round_trip);
  known.last = std::min(known.current, known.before);
  const Duration shared = round_trip - ack_delay.value_or(Duration::zero()) - way(sender);
  if (has_sample_ && !ack_delay) return;
  if (has_sample_) {
    const Duration difference = shared > shared_ ? shared - shared_ : shared_ - shared;
    jitter_ += (std::min(difference, k_longest_wait) - jitter_) / k_jitter_gain;
  }
  shared_ = shared;
  has_sample_ = true;
}

void ArrivalOrder::on_numbered(Sender sender, Time now) { senders_[sender].numbered_at = now; }

void ArrivalOrder::expect(Sender sender, Duration way) { senders_[sender].expected = way; }

void ArrivalOrder::forget(Sender sender) { senders_[sender] = {}; }

Duration ArrivalOrder::nearest() const {
  Duration nearest = Duration::max();
  for (const Known& known : senders_) nearest = std::min(nearest, known.last);
  return nearest;
}

Duration ArrivalOrder::way(Sender sender) const {
  const Known& known = senders_[sender];
  return known.last == Duration::max() ? known.expected : known.last - nearest();
}

// A packet that was numbered one round trip ago has arrived.
bool ArrivalOrder::is_active(const Known& known, Time now) const {
  return known.numbered_at != Time::min() && has_sample_ &&
         now - known.numbered_at <=
             std::max(known.last == Duration::max() ? shared_ : known.last, shared_);
}

Duration ArrivalOrder::farthest_active(Time now) const {
  Duration farthest = Duration::zero();
  for (std::size_t i = 0; i < senders_.size(); ++i) {
    if (is_active(senders_[i], now)) {
      farthest = std::max(farthest, way(static_cast<Sender>(i)));
    }
  }
  return farthest;
}

Duration ArrivalOrder::wait(Sender sender, Time now) const {
  return std::clamp<Duration>(farthest_active(now) - way(sender), Duration::zero(), k_longest_wait);
}

std::size_t ArrivalOrder::active(Time now) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(senders_, [&](const Known& known) { return is_active(known, now); }));
}

Duration ArrivalOrder::uncertainty() const {
  return std::min<Duration>(k_jitter_margin * jitter_, k_longest_wait);
}

RunLimits ArrivalOrder::limits(std::uint64_t rate, Time now) {
  const std::uint64_t overtaken = packets_in(uncertainty(), rate);
  RunLimits limits;
  // A run is a burst, which a queue at the bottleneck must hold beside those of others.
  limits.longest = std::clamp<std::uint64_t>(packets_in(k_longest_burst, rate), 2, k_longest_run);
  limits.shortest = std::clamp<std::uint64_t>(packets_in(k_shortest_burst, rate), 1, k_short_run);
  limits.per_turn = k_window;
  if (active(now) > 1) {
    limits.per_turn = std::max<std::size_t>(k_window - std::min(overtaken, k_window), k_short_run);
  }
  if (overtaken > k_tolerable) limits.before_switch = uncertainty();
  const Duration farthest = farthest_active(now);
  for (std::size_t i = 0; i < senders_.size(); ++i) {
    const Duration left = waits_[i] - (now - limited_at_);
    const Duration needed = std::min(farthest - way(static_cast<Sender>(i)), k_longest_wait);
    limits.waits[i] = waits_[i] = std::max({needed, left, Duration::zero()});
  }
  limited_at_ = now;
  return limits;
}

}  // namespace sheaf::quic
