#include <algorithm>
#include <cmath>

#include "congestion/bbr/bbr.h"

namespace sheaf::quic {

namespace {

using Feedback = bbr::ProbeCycle::Feedback;

// Headroom of draft-ietf-ccwg-bbr §2.8
constexpr double k_headroom = 0.15;
// §5.3.3.5.3: probes come every two to three seconds. On small paths they come as often as Reno
// would grow its window by as much.
constexpr Duration k_shortest_wait = std::chrono::seconds(2);
constexpr double k_random_wait = 1e9;  // nanoseconds
constexpr std::uint64_t k_max_rounds = 63;
constexpr std::uint32_t k_max_raised_rounds = 30;

}  // namespace

// --- phases -------------------------------------------------------------------------------------

void Bbr::start_down(Time now, std::uint64_t delivered) {
  signals_.reset();
  cycle_.acknowledged_per_raise = bbr::k_infinity;
  cycle_.rounds = random_.below(2);
  cycle_.wait =
      k_shortest_wait + Duration(static_cast<std::int64_t>(random_.uniform() * k_random_wait));
  cycle_.start = now;
  cycle_.feedback = Feedback::kStopping;
  rounds_.restart(delivered);
  state_ = State::kProbeDown;
}

void Bbr::start_refill(std::uint64_t delivered) {
  bounds_.reset_short_term();
  cycle_.raised_rounds = 0;
  cycle_.acknowledged = 0;
  cycle_.was_precautionary = false;
  cycle_.feedback = Feedback::kRefilling;
  rounds_.restart(delivered);
  state_ = State::kProbeRefill;
}

void Bbr::start_up(const AckSample& sample) {
  cycle_.is_probe_sample = true;
  cycle_.feedback = Feedback::kStarting;
  rounds_.restart(sample.delivered);
  full_pipe_.restart(static_cast<double>(sample.delivery_rate));
  state_ = State::kProbeUp;
  steepen_slope();
}

void Bbr::update_cycle(const AckSample& sample) {
  if (!pipe_was_full_ || adapt_long_term(sample)) return;
  switch (state_) {
    case State::kProbeDown:
    case State::kProbeCruise:
      if (is_time_to_probe(sample.now)) {
        start_refill(sample.delivered);
      } else if (is_time_to_cruise(sample)) {
        state_ = State::kProbeCruise;
      }
      break;
    case State::kProbeRefill:
      if (rounds_.began()) start_up(sample);
      break;
    case State::kProbeUp:
      if (!is_time_to_go_down(sample)) break;
      cycle_.was_too_high = false;  // not known yet
      start_down(sample.now, sample.delivered);
      break;
    case State::kStartup:
    case State::kDrain:
    case State::kProbeRtt:
      break;
  }
}

// --- decisions ----------------------------------------------------------------------------------

bool Bbr::is_time_to_probe(Time now) const {
  if (now > cycle_.start + cycle_.wait) return true;
  const double reno_rounds = std::min(path_volume(bandwidth()), window_) / datagram_;
  return static_cast<double>(cycle_.rounds) >=
         std::min(reno_rounds, static_cast<double>(k_max_rounds));
}

bool Bbr::is_time_to_cruise(const AckSample& sample) const {
  const double in_flight = static_cast<double>(sample.bytes_in_flight);
  return in_flight <= with_headroom() &&
         in_flight <= with_quanta(path_volume(bandwidth_filter_.maximum()));
}

bool Bbr::is_time_to_go_down(const AckSample& sample) {
  // §5.3.3.5.2: after a probe that lost too much, go no higher than what lost.
  if (cycle_.was_too_high &&
      static_cast<double>(sample.bytes_in_flight) >= bounds_.long_term_volume) {
    cycle_.was_precautionary = true;
    return true;
  }
  if (is_limited_by_long_term(sample)) {
    // The bound, and not the path, keeps the rate from growing.
    full_pipe_.restart(static_cast<double>(sample.delivery_rate));
    return false;
  }
  return full_pipe_.full();
}

bool Bbr::is_limited_by_long_term(const AckSample& sample) const {
  const double in_flight = static_cast<double>(sample.bytes_in_flight_before);
  return in_flight + datagram_ > window_ && window_ >= bounds_.long_term_volume;
}

// --- long-term bound (§5.3.3.6) -----------------------------------------------------------------

double Bbr::with_headroom() const {
  const double headroom = std::max(datagram_, k_headroom * bounds_.long_term_volume);
  if (bounds_.long_term_volume == bbr::k_infinity) return bbr::k_infinity;
  return std::max(bounds_.long_term_volume - headroom, minimum_window());
}

// Adapts the long-term bound. Returns whether it started a phase.
bool Bbr::adapt_long_term(const AckSample& sample) {
  if (rounds_.began()) {
    if (cycle_.feedback == Feedback::kStarting) {
      cycle_.feedback = Feedback::kArriving;
    } else if (cycle_.feedback == Feedback::kStopping) {
      // The last packet that was sent while probing has been acknowledged.
      cycle_.is_probe_sample = false;
      cycle_.feedback = Feedback::kNone;
      if (in_probe_bandwidth()) {
        if (!is_application_limited(sample)) bandwidth_filter_.advance();
        if (cycle_.was_precautionary && !cycle_.was_too_high) {
          start_refill(sample.delivered);
          return true;
        }
      }
    }
  }
  const double in_flight = static_cast<double>(sample.in_flight_at_send);
  if (bounds_.long_term_volume == bbr::k_infinity ||
      is_too_much(sample.lost_since_send, sample.in_flight_at_send)) {
    return false;
  }
  bounds_.long_term_volume = std::max(bounds_.long_term_volume, in_flight);
  if (state_ == State::kProbeUp) raise_long_term(sample);
  return false;
}

void Bbr::raise_long_term(const AckSample& sample) {
  if (!is_limited_by_long_term(sample)) return;
  cycle_.acknowledged += static_cast<double>(sample.acknowledged_bytes);
  if (cycle_.acknowledged >= cycle_.acknowledged_per_raise) {
    const double raises = std::floor(cycle_.acknowledged / cycle_.acknowledged_per_raise);
    cycle_.acknowledged -= raises * cycle_.acknowledged_per_raise;
    bounds_.long_term_volume += raises * datagram_;
  }
  if (rounds_.began()) steepen_slope();
}

void Bbr::steepen_slope() {
  const double raises = static_cast<double>(std::uint64_t{1} << cycle_.raised_rounds);
  cycle_.raised_rounds = std::min(cycle_.raised_rounds + 1, k_max_raised_rounds);
  cycle_.acknowledged_per_raise = std::max(window_ / raises, datagram_);
}

}  // namespace sheaf::quic
