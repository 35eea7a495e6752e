#include "congestion/bbr/bbr.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

using State = Bbr::State;

constexpr double k_pacing_margin = 0.99;  // §2.5
constexpr double k_max_rate = 1e12;       // bytes per second; what Pacer can count
constexpr double k_max_quantum = 64 << 10;

struct Gains {
  double pacing;
  double window;
};

// Gains of §5.6.1. The window in ProbeRTT is fixed when that state begins.
constexpr Gains gains(State state) {
  switch (state) {
    case State::kStartup:
      return {2.77, 2};
    case State::kDrain:
      return {0.5, 2};
    case State::kProbeDown:
      return {0.9, 2};
    case State::kProbeUp:
      return {1.25, 2.25};
    case State::kProbeCruise:
    case State::kProbeRefill:
    case State::kProbeRtt:
      break;
  }
  return {1, 2};
}

}  // namespace

Bbr::Bbr(const CongestionConfig& config)
    : datagram_(static_cast<double>(config.max_datagram_size)),
      initial_window_(datagram_ * static_cast<double>(config.initial_window_packets)),
      window_(std::max(initial_window_, minimum_window())),
      // §5.6.2: assume a round trip of one millisecond until there is a sample.
      pacing_rate_(std::min(gains(State::kStartup).pacing * window_ * 1e3, k_max_rate)),
      random_(config.seed) {}

// --- events -------------------------------------------------------------------------------------

void Bbr::on_packet_sent(Time now, PacketNumber, std::uint64_t bytes,
                         std::uint64_t bytes_in_flight) {
  if (bytes_in_flight != bytes || !application_limited_) return;
  // §5.4: after silence, restart at exactly the bandwidth that the path had.
  restarts_from_idle_ = true;
  aggregation_.restart(now);
  if (in_probe_bandwidth()) {
    set_pacing_rate(1);
  } else if (state_ == State::kProbeRtt) {
    leave_probe_rtt_when_done(now, delivered_);
  }
}

void Bbr::on_acknowledgement(const AckSample& sample) {
  delivered_ = sample.delivered;
  application_limited_ = sample.application_limited;
  update_model(sample);
  set_pacing_rate(gains(state_).pacing);
  set_window(sample);
}

void Bbr::on_mtu_change(std::uint64_t max_datagram_size) {
  datagram_ = static_cast<double>(max_datagram_size);
  window_ = std::max(window_, minimum_window());
}

// --- model (§5.2.3) -----------------------------------------------------------------------------

bool Bbr::is_application_limited(const AckSample& sample) const {
  return sample.delivery_rate_application_limited ||
         sample.delivered_at_send < probe_rtt_.limited_until;
}

void Bbr::update_model(const AckSample& sample) {
  signals_.on_acknowledgement(sample);
  rounds_.on_acknowledgement(sample);
  if (rounds_.began()) ++cycle_.rounds;
  const double rate = std::min(static_cast<double>(sample.delivery_rate), k_max_rate);
  // §5.5.4: a limited sample counts when it shows a faster path than was known.
  if (rate >= bandwidth_filter_.maximum() || !is_application_limited(sample)) {
    bandwidth_filter_.add(rate);
  }
  if (signals_.round_ended()) adapt_short_term(sample);
  update_aggregation(sample);
  check_full_pipe(sample);
  check_startup_loss(sample);
  check_startup_done(sample);
  learn_random_loss(sample);
  update_cycle(sample);
  update_minimum_rtt(sample);
  signals_.finish(sample);
}

void Bbr::update_aggregation(const AckSample& sample) {
  aggregation_.on_acknowledgement({.bytes = sample.acknowledged_bytes,
                                   .rate = bandwidth(),
                                   .window = window_,
                                   .round = rounds_.count(),
                                   .now = sample.now});
}

void Bbr::update_minimum_rtt(const AckSample& sample) {
  const bool expired = minimum_rtt_.expired(sample.now);
  if (expired && state_ != State::kProbeRtt) {
    // §5.3.4.1: use the estimate before a sample with a queue in it replaces it.
    probe_rtt_.window = std::max(0.5 * path_volume(bandwidth()), minimum_window());
  }
  minimum_rtt_.on_acknowledgement(sample.smallest_rtt, sample.now);
  check_probe_rtt(sample, expired);
}

// --- control parameters (§5.6) ------------------------------------------------------------------

void Bbr::set_pacing_rate(double gain) {
  if (!saw_rtt_ && minimum_rtt_.known()) {
    saw_rtt_ = true;
    pacing_rate_ = gains(State::kStartup).pacing * initial_window_ / minimum_rtt_.seconds();
  }
  const double rate = gain * k_pacing_margin * bandwidth();
  // §5.6.2: until the pipe was full, low samples do not slow the search down.
  if (rate > 0 && (pipe_was_full_ || rate > pacing_rate_)) pacing_rate_ = rate;
  // Keeps at least a datagram per second. Otherwise nothing would ever show that the path is
  // faster.
  pacing_rate_ = std::clamp(pacing_rate_, datagram_, k_max_rate);
}

double Bbr::path_volume(double bandwidth) const {
  return minimum_rtt_.known() ? bandwidth * minimum_rtt_.seconds() : initial_window_;
}

double Bbr::with_quanta(double volume) const {
  // §5.6.3: allow for what is sent together.
  const double quantum = std::max(std::min(pacing_rate_ * 1e-3, k_max_quantum), 2 * datagram_);
  const double enough = std::max({volume, quantum, minimum_window()});
  return state_ == State::kProbeUp ? enough + 2 * datagram_ : enough;
}

void Bbr::set_window(const AckSample& sample) {
  const std::uint64_t rounds = pipe_was_full_ ? bbr::AckAggregation::k_rounds : 1;
  const double largest =
      with_quanta(gains(state_).window * path_volume(bandwidth()) + aggregation_.maximum(rounds));
  const double acknowledged = static_cast<double>(sample.acknowledged_bytes);
  if (pipe_was_full_) {
    window_ = std::min(window_ + acknowledged, largest);
  } else if (window_ < largest || static_cast<double>(sample.delivered) < initial_window_) {
    window_ += acknowledged;
  }
  window_ = std::min({window_, window_bound(), static_cast<double>(k_max_congestion_window)});
  window_ = std::max(window_, minimum_window());
}

double Bbr::window_bound() const {
  double bound = bounds_.volume;
  switch (state_) {
    case State::kStartup:
      break;
    case State::kDrain:
    case State::kProbeDown:
    case State::kProbeRefill:
    case State::kProbeUp:
      bound = std::min(bound, bounds_.long_term_volume);
      break;
    case State::kProbeCruise:
      bound = std::min(bound, with_headroom());
      break;
    case State::kProbeRtt:
      bound = std::min({bound, with_headroom(), probe_rtt_.window});
      break;
  }
  return bound;
}

std::uint64_t Bbr::window() const { return static_cast<std::uint64_t>(window_); }

std::uint64_t Bbr::pacing_rate() const { return static_cast<std::uint64_t>(pacing_rate_); }

}  // namespace sheaf::quic
