#include "congestion/bbr_v1/bbr_v1.h"

#include <algorithm>
#include <array>

namespace sheaf::quic {

namespace {

constexpr double k_high_gain = 2.89;  // §4.1.1: 2 / ln 2
constexpr double k_window_gain = 2;
constexpr std::array<double, 8> k_cycle{1.25, 0.75, 1, 1, 1, 1, 1, 1};  // §4.3.4.2
constexpr Duration k_probe_rtt_duration = std::chrono::milliseconds(200);
constexpr double k_max_paced_rate = 1e12;  // bytes per second; what Pacer can count
constexpr double k_max_burst_quantum = 64 << 10;

}  // namespace

BbrV1::BbrV1(const CongestionConfig& config)
    : datagram_(static_cast<double>(config.max_datagram_size)),
      initial_window_(datagram_ * static_cast<double>(config.initial_window_packets)),
      window_(std::max(initial_window_, minimum_window())),
      // §4.2.1: assume a round trip of one millisecond until there is a sample.
      pacing_rate_(std::min(k_high_gain * window_ * 1e3, k_max_paced_rate)),
      random_(config.seed) {}

// --- events -------------------------------------------------------------------------------------

void BbrV1::on_packet_sent(Time, PacketNumber, std::uint64_t bytes, std::uint64_t bytes_in_flight) {
  // §4.3.4.4: after silence, restart at exactly the bandwidth that the path had.
  const bool restarts = bytes_in_flight == bytes && application_limited_;
  if (restarts && state_ == State::kProbeBandwidth) set_pacing_rate(1);
}

void BbrV1::on_acknowledgement(const AckSample& sample) {
  application_limited_ = sample.application_limited;
  update_bandwidth(sample);
  check_full_pipe(sample);
  check_drain(sample);
  if (state_ == State::kProbeBandwidth) update_cycle(sample);
  update_minimum_rtt(sample);
  set_pacing_rate(pacing_gain());
  set_window(sample);
}

// Only a path that delivers nothing at all makes the window small (§4.2.3.4, retransmission
// timeout). It grows again with what arrives.
void BbrV1::on_congestion(const LossSample& sample) {
  if (!sample.persistent) return;
  window_before_ = std::max(window_before_, window_);
  window_ = minimum_window();
}

void BbrV1::on_spurious_congestion(Time) { window_ = std::max(window_, window_before_); }

void BbrV1::on_mtu_change(std::uint64_t max_datagram_size) {
  datagram_ = static_cast<double>(max_datagram_size);
  window_ = std::max(window_, minimum_window());
}

// --- model (§4.1) -------------------------------------------------------------------------------

void BbrV1::update_bandwidth(const AckSample& sample) {
  rounds_.on_acknowledgement(sample);
  const double rate = std::min(static_cast<double>(sample.delivery_rate), k_max_paced_rate);
  // §4.1.2.3: a limited sample counts when it shows a faster path than was known. While all are
  // limited, what was known stays.
  if (sample.delivery_rate_application_limited && rate < bandwidth()) return;
  bandwidth_.advance(rounds_.count());
  bandwidth_.add(rate);
}

void BbrV1::update_minimum_rtt(const AckSample& sample) {
  const bool expired = minimum_rtt_.expired(sample.now);
  minimum_rtt_.on_acknowledgement(sample.smallest_rtt, sample.now);
  if (expired && state_ != State::kProbeRtt) {
    window_before_ = window_;
    probe_rtt_done_ = k_never;
    state_ = State::kProbeRtt;
  }
  if (state_ == State::kProbeRtt) hold_probe_rtt(sample);
}

// --- states (§4.3) ------------------------------------------------------------------------------

void BbrV1::check_full_pipe(const AckSample& sample) {
  if (!rounds_.began() || sample.delivery_rate_application_limited || bandwidth() == 0) return;
  full_pipe_.on_round(bandwidth());
  if (full_pipe_.full() && state_ == State::kStartup) state_ = State::kDrain;
}

void BbrV1::check_drain(const AckSample& sample) {
  if (state_ != State::kDrain) return;
  if (static_cast<double>(sample.bytes_in_flight) <= volume(1)) start_probe_bandwidth(sample.now);
}

// §4.3.4.3: begin with any phase but the one that drains, so that flows do not probe together.
void BbrV1::start_probe_bandwidth(Time now) {
  state_ = State::kProbeBandwidth;
  const std::size_t drawn = random_.below(k_cycle.size() - 1);
  phase_ = drawn == 0 ? 0 : drawn + 1;
  phase_start_ = now;
}

void BbrV1::update_cycle(const AckSample& sample) {
  if (!is_time_to_advance(sample)) return;
  phase_ = (phase_ + 1) % k_cycle.size();
  phase_start_ = sample.now;
}

bool BbrV1::is_time_to_advance(const AckSample& sample) const {
  const bool is_full_length = sample.now - phase_start_ > minimum_rtt_.minimum();
  const double gain = k_cycle[phase_];
  const double in_flight = static_cast<double>(sample.bytes_in_flight_before);
  if (gain > 1) return is_full_length && (sample.lost_since_send > 0 || in_flight >= volume(gain));
  if (gain < 1) return is_full_length || in_flight <= volume(1);
  return is_full_length;
}

void BbrV1::hold_probe_rtt(const AckSample& sample) {
  if (probe_rtt_done_ == k_never) {
    if (static_cast<double>(sample.bytes_in_flight) > minimum_window()) return;
    probe_rtt_done_ = sample.now + k_probe_rtt_duration;
    probe_rtt_round_done_ = false;
    rounds_.restart(sample.delivered);
    return;
  }
  probe_rtt_round_done_ |= rounds_.began();
  if (probe_rtt_round_done_ && sample.now > probe_rtt_done_) leave_probe_rtt(sample.now);
}

void BbrV1::leave_probe_rtt(Time now) {
  minimum_rtt_.renew(now);
  window_ = std::max(window_, window_before_);
  if (full_pipe_.full()) {
    start_probe_bandwidth(now);
  } else {
    state_ = State::kStartup;
  }
}

// --- control parameters (§4.2) ------------------------------------------------------------------

double BbrV1::pacing_gain() const {
  switch (state_) {
    case State::kStartup:
      return k_high_gain;
    case State::kDrain:
      return 1 / k_high_gain;
    case State::kProbeBandwidth:
      return k_cycle[phase_];
    case State::kProbeRtt:
      break;
  }
  return 1;
}

void BbrV1::set_pacing_rate(double gain) {
  if (!saw_rtt_ && minimum_rtt_.known()) {
    saw_rtt_ = true;
    pacing_rate_ = k_high_gain * initial_window_ / minimum_rtt_.seconds();
  }
  const double rate = gain * bandwidth();
  if (rate > 0 && (full_pipe_.full() || rate > pacing_rate_)) pacing_rate_ = rate;
  // Keeps at least a datagram per second. Otherwise nothing would ever show that the path is
  // faster.
  pacing_rate_ = std::clamp(pacing_rate_, datagram_, k_max_paced_rate);
}

double BbrV1::volume(double gain) const {
  if (!minimum_rtt_.known()) return initial_window_;
  const double quantum = std::clamp(pacing_rate_ * 1e-3, datagram_, k_max_burst_quantum);
  return gain * bandwidth() * minimum_rtt_.seconds() + 3 * quantum;
}

void BbrV1::set_window(const AckSample& sample) {
  const double target = volume(state_ == State::kProbeBandwidth ? k_window_gain : k_high_gain);
  const double acknowledged = static_cast<double>(sample.acknowledged_bytes);
  if (full_pipe_.full()) {
    window_ = std::min(window_ + acknowledged, target);
  } else if (window_ < target || static_cast<double>(sample.delivered) < initial_window_) {
    window_ += acknowledged;
  }
  if (state_ == State::kProbeRtt) window_ = std::min(window_, minimum_window());
  window_ = std::clamp(window_, minimum_window(), static_cast<double>(k_max_congestion_window));
}

}  // namespace sheaf::quic
