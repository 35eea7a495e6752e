#include "direct_return/arrival_order.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

constexpr int k_jitter_gain = 16;  // RFC 3550 §6.4.1
constexpr int k_level_gain = 8;    // of a smoothed round trip (RFC 9002 §5.3)
constexpr int k_own_gain = 4;
// Twice the mean difference covers nearly all of them.
constexpr int k_jitter_margin = 2;

// A change of the sender costs about as many ACKs as there are packets whose order is uncertain. So
// it is made after this many packets, or after this time where packets are rare; and not within a
// burst of the pacer, whose packets are numbered at one instant.
constexpr std::uint64_t k_turn = 24;
constexpr Duration k_longest_turn = 25ms;
constexpr std::size_t k_burst = 10;

// A window that changes at once sends a burst, which comes in disorder. So the detour is followed
// within about as many round trips.
constexpr double k_detour_round_trips = 8;

constexpr std::size_t k_longest_run = 32;  // packets
constexpr std::size_t k_short_run = 8;
// Runs last so long at the connection's rate, if they are not too long or too short otherwise.
constexpr Duration k_longest_burst = 2ms;
constexpr Duration k_shortest_burst = 1ms;

std::uint64_t packets_in(Duration duration, std::uint64_t rate) {
  const double packets = to_seconds(duration) * static_cast<double>(rate);
  return packets >= 1e9 ? 1'000'000'000 : static_cast<std::uint64_t>(packets);
}

// Zero while the rate is not known
Duration time_of(std::uint64_t packets, std::uint64_t rate) {
  constexpr std::uint64_t k_second = 1'000'000'000;
  return Duration(rate == 0 ? 0 : static_cast<std::int64_t>(packets * k_second / rate));
}

}  // namespace

void ArrivalOrder::begin_span(Time now) {
  if (span_began_ != Time::min() && now - span_began_ < k_span) return;
  const bool adjacent = span_began_ != Time::min() && now - span_began_ < 2 * k_span;
  // What a queue on the shared part of the way adds to the others' samples, it adds to those of a
  // sender that sent nothing meanwhile.
  const Duration grown = adjacent ? growth() : Duration::zero();
  for (Known& known : backends()) {
    if (known.current == k_unknown && known.last != k_unknown) known.last += grown;
    known.before = adjacent ? known.current : k_unknown;
    // For all at once, so that what is compared is of the same time.
    if (known.before != k_unknown) known.last = known.before;
    known.current = k_unknown;
  }
  moved_ = std::max(grown, -grown);
  if (!adjacent) shortest_ = k_unknown;
  span_began_ = now;
}

Duration ArrivalOrder::growth() {
  Duration sum = Duration::zero();
  int senders = 0;
  for (const Known& known : backends()) {
    if (known.before == k_unknown || known.current == k_unknown) continue;
    sum += known.current - known.before;
    ++senders;
  }
  return senders == 0 ? Duration::zero() : sum / senders;
}

// Behind a queue that stands, a packet that arrives later waits as much less. So samples tell ways
// apart only while it is short; later ones count where they contradict what is known.
void ArrivalOrder::settle(Known& known, Duration excess) const {
  const Duration off = excess > known.excess ? excess - known.excess : known.excess - excess;
  const bool short_queue = nearest_ - time_of(k_tolerable / 2, rate_) <= shortest_;
  const bool contradicts = off > time_of(k_tolerable, rate_) + moved_;
  if (!known.measured || short_queue || contradicts) known.excess = excess;
  known.measured = true;
}

void ArrivalOrder::measure(Known& known, Duration round_trip) {
  known.current = std::min(known.current, round_trip);
  known.last = std::min(known.current, known.before);
  nearest_ = k_unknown;
  for (const Known& each : backends()) nearest_ = std::min(nearest_, each.last);
  shortest_ = std::min(shortest_, nearest_);
  for (Known& each : backends()) {
    if (each.last != k_unknown) settle(each, each.last - nearest_);
  }
}

void ArrivalOrder::on_sample(Sender sender, Duration round_trip, Time now,
                             std::optional<Duration> ack_delay) {
  begin_span(now);
  Known& known = senders_[sender];
  const Duration arrived = round_trip - ack_delay.value_or(Duration::zero());
  Known& own = senders_[k_gateway];
  if (sender != k_gateway) {
    measure(known, arrived);
  } else {
    own.last = arrived;
    // One packet may have met more of a queue than others did.
    if (own.measured && ack_delay) {
      settle(own, own.excess + (arrived - level_ - own.excess) / k_own_gain);
    }
  }
  const Duration shared = arrived - known.excess;
  if (sender != k_gateway) {
    level_ += (shared - level_) / (has_level_ ? k_level_gain : 1);
    has_level_ = true;
    if (!own.measured && own.last != k_unknown) settle(own, own.last - level_);
  }
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

Duration ArrivalOrder::way(Sender sender) const {
  const Known& known = senders_[sender];
  if (!known.measured) return known.expected;
  Duration least = known.excess;
  for (const Known& each : senders_) {
    if (each.measured) least = std::min(least, each.excess);
  }
  return known.excess - least;
}

// A packet that was numbered one round trip ago has arrived.
bool ArrivalOrder::is_active(Sender sender, Time now) const {
  const Known& known = senders_[sender];
  return known.numbered_at != Time::min() && has_sample_ &&
         now - known.numbered_at <=
             std::max(known.last == k_unknown ? shared_ : known.last, shared_);
}

Duration ArrivalOrder::farthest_active(Time now) const {
  Duration farthest = Duration::zero();
  for (std::size_t i = 0; i < senders_.size(); ++i) {
    if (is_active(static_cast<Sender>(i), now)) {
      farthest = std::max(farthest, way(static_cast<Sender>(i)));
    }
  }
  return farthest;
}

Duration ArrivalOrder::wait(Sender sender, Time now) const {
  return std::clamp<Duration>(farthest_active(now) - way(sender), Duration::zero(), k_longest_wait);
}

std::size_t ArrivalOrder::active(Time now) const {
  std::size_t active = 0;
  for (std::size_t i = 0; i < senders_.size(); ++i) {
    active += is_active(static_cast<Sender>(i), now) ? 1 : 0;
  }
  return active;
}

Duration ArrivalOrder::uncertainty() const {
  return std::min<Duration>(k_jitter_margin * jitter_, k_longest_wait);
}

double ArrivalOrder::detour(Duration least_round_trip, Time now) {
  const Known& own = senders_[k_gateway];
  // A client names the delay of its acknowledgements, but cannot answer before it was asked.
  const double round_trip =
      to_seconds(std::max<Duration>({level_ + own.excess, least_round_trip, 1us}));
  const Duration longer = std::min(farthest_active(now) - way(k_gateway), k_longest_wait);
  const double wanted =
      own.measured ? std::clamp(1 + to_seconds(longer) / round_trip, 1.0, k_max_detour) : 1;
  if (detour_at_ != Time::min()) {
    const double round_trips = to_seconds(now - detour_at_) / round_trip;
    detour_ += (wanted - detour_) * std::min(round_trips / k_detour_round_trips, 1.0);
  }
  detour_at_ = now;
  return detour_;
}

RunLimits ArrivalOrder::limits(std::uint64_t rate, Time now) {
  rate_ = rate;
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
  limits.shortest_turn =
      std::max<std::size_t>(std::min(k_turn, packets_in(k_longest_turn, rate)), limits.longest);
  limits.longest_turn = limits.shortest_turn + k_burst;
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
