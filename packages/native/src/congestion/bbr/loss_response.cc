#include "congestion/bbr/bbr.h"

namespace sheaf::quic {

namespace {

constexpr double k_loss_threshold = 0.02;  // draft-ietf-ccwg-bbr §2.8, LossThresh
constexpr double k_beta = 0.7;             // §2.8

// Returns how much was in flight when losses crossed the threshold (§5.5.10.2, InflightAtLoss). The
// packet may have pushed them beyond it.
double in_flight_at_threshold(const LostPacket& packet, double tolerated) {
  const double size = static_cast<double>(packet.bytes);
  const double in_flight_before = static_cast<double>(packet.in_flight_at_send) - size;
  const double lost_before = static_cast<double>(packet.lost_since_send) - size;
  return in_flight_before + std::max(tolerated - lost_before, 0.0);
}

}  // namespace

double Bbr::tolerated_loss(double in_flight) const {
  return k_loss_threshold * in_flight + random_loss_.largest(in_flight, datagram_);
}

bool Bbr::is_too_much(std::uint64_t lost, std::uint64_t in_flight) const {
  return static_cast<double>(lost) > tolerated_loss(static_cast<double>(in_flight));
}

// Learns from rounds in which the queue should be empty: in Startup until the pipe is full, and in
// cruising rounds.
void Bbr::learn_random_loss(const AckSample& sample) {
  if (!rounds_.began()) return;
  cruise_rounds_ = state_ == State::kProbeCruise ? cruise_rounds_ + 1 : 0;
  // The previous probe may have caused the losses of the first cruising round.
  if (state_ != State::kStartup && cruise_rounds_ < 2) return;
  random_loss_.on_quiet_round(
      {.delivered = static_cast<double>(sample.delivered - sample.delivered_at_send),
       .lost = static_cast<double>(sample.lost_since_send),
       .rtt = sample.smallest_rtt,
       .minimum_rtt = minimum_rtt_.minimum()});
}

// Remembers the state once for all losses that LossDetection would call spurious together
// (§5.5.11.1).
void Bbr::remember_state(const LostPacket& packet) {
  if (packet.time_sent <= episode_start_) return;
  episode_start_ = packet.now;
  undo_ = Undo{.bounds = bounds_, .window = window_, .interrupted = std::nullopt};
}

void Bbr::on_packet_lost(const LostPacket& packet) {
  signals_.on_packet_lost(packet);
  remember_state(packet);
  if (!cycle_.is_probe_sample || !is_too_much(packet.lost_since_send, packet.in_flight_at_send)) {
    return;
  }
  const double tolerated = tolerated_loss(static_cast<double>(packet.in_flight_at_send));
  on_too_much_in_flight(packet.now, in_flight_at_threshold(packet, tolerated),
                        packet.application_limited);
}

void Bbr::on_too_much_in_flight(Time now, double in_flight, bool application_limited) {
  cycle_.was_too_high = true;
  cycle_.is_probe_sample = false;  // one response to each probe
  if (!application_limited) {
    const double target = std::min(path_volume(bandwidth()), window_);
    bounds_.long_term_volume = std::max({in_flight, k_beta * target, minimum_window()});
  }
  if (state_ != State::kProbeUp) return;
  if (undo_) undo_->interrupted = State::kProbeUp;
  start_down(now, delivered_);
}

// Adapts the bounds once per round trip (§5.5.10.3).
void Bbr::adapt_short_term(const AckSample& sample) {
  const bool probing =
      state_ == State::kStartup || state_ == State::kProbeRefill || state_ == State::kProbeUp;
  const bool lost_too_much = is_too_much(signals_.lost(), sample.in_flight_at_send);
  if (signals_.congested() && !probing && (lost_too_much || signals_.marked())) {
    if (bounds_.rate == bbr::k_infinity) bounds_.rate = bandwidth_filter_.maximum();
    if (bounds_.volume == bbr::k_infinity) bounds_.volume = window_;
    bounds_.rate = std::max(signals_.rate(), k_beta * bounds_.rate);
    bounds_.volume = std::max(signals_.volume(), k_beta * bounds_.volume);
  }
  signals_.forgive();
}

void Bbr::on_congestion(const LossSample& sample) {
  if (sample.ecn) {
    // RFC 9002 §7.1: a mark counts as a loss. A queue caused it, so too much was in flight.
    signals_.on_mark(delivered_);
    undo_.reset();
    if (cycle_.is_probe_sample) {
      on_too_much_in_flight(sample.now, static_cast<double>(sample.bytes_in_flight),
                            application_limited_);
    }
  }
  if (!sample.persistent) return;
  // §5.6.4.4, RTO: the path may be gone. The window grows again with what arrives.
  undo_.reset();
  window_ = minimum_window();
}

// Restores the state from before the losses (§5.5.11.2).
void Bbr::on_spurious_congestion(Time) {
  if (!undo_) return;
  const Undo undo = *undo_;
  undo_.reset();
  window_ = std::max(window_, undo.window);
  signals_.forgive();
  full_pipe_.restart();
  bounds_.restore(undo.bounds);
  if (undo.interrupted == State::kStartup && state_ != State::kStartup) {
    pipe_was_full_ = false;
    if (state_ != State::kProbeRtt) state_ = State::kStartup;
  } else if (undo.interrupted == State::kProbeUp && in_probe_bandwidth() &&
             state_ != State::kProbeUp) {
    start_refill(delivered_);
  }
}

}  // namespace sheaf::quic
