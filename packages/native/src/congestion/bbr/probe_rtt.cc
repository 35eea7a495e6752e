#include "congestion/bbr/bbr.h"

namespace sheaf::quic {

namespace {

constexpr Duration k_duration = std::chrono::milliseconds(200);

}  // namespace

// Enters and holds ProbeRTT (draft-ietf-ccwg-bbr §5.3.4.3).
void Bbr::check_probe_rtt(const AckSample& sample, bool expired) {
  // Silence has emptied the queue as well as this state would.
  if (expired && state_ != State::kProbeRtt && !restarts_from_idle_) {
    probe_rtt_.window_before = window_;
    state_ = State::kProbeRtt;
    probe_rtt_.done = k_never;
    cycle_.feedback = bbr::ProbeCycle::Feedback::kStopping;
    rounds_.restart(sample.delivered);
  }
  if (state_ == State::kProbeRtt) hold_probe_rtt(sample);
  restarts_from_idle_ = false;
}

void Bbr::hold_probe_rtt(const AckSample& sample) {
  probe_rtt_.limited_until = sample.delivered + sample.bytes_in_flight + 1;
  if (probe_rtt_.done == k_never) {
    if (static_cast<double>(sample.bytes_in_flight) > probe_rtt_.window) return;
    probe_rtt_.done = sample.now + k_duration;
    probe_rtt_.round_done = false;
    rounds_.restart(sample.delivered);
    return;
  }
  probe_rtt_.round_done |= rounds_.began();
  if (probe_rtt_.round_done) leave_probe_rtt_when_done(sample.now, sample.delivered);
}

void Bbr::leave_probe_rtt_when_done(Time now, std::uint64_t delivered) {
  if (probe_rtt_.done == k_never || now <= probe_rtt_.done) return;
  minimum_rtt_.renew(now);
  window_ = std::max(window_, probe_rtt_.window_before);
  // §5.3.4.4: losses in this state tell little about the path.
  bounds_.reset_short_term();
  if (pipe_was_full_) {
    start_down(now, delivered);
    state_ = State::kProbeCruise;  // the queue is empty already
  } else {
    state_ = State::kStartup;
  }
}

}  // namespace sheaf::quic
