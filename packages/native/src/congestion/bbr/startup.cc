#include "congestion/bbr/bbr.h"

namespace sheaf::quic {

namespace {

// draft-ietf-ccwg-bbr §5.3.1.3, BBRStartupFullLossCnt.
constexpr std::uint64_t k_full_loss_ranges = 6;
// Bound on Drain (§5.3.2): if the bandwidth was overestimated, the queue would never drain.
constexpr std::uint64_t k_max_drain = 3;  // rounds

}  // namespace

void Bbr::check_full_pipe(const AckSample& sample) {
  if (!rounds_.began() || sample.delivery_rate == 0 || is_application_limited(sample)) return;
  full_pipe_.on_round(static_cast<double>(sample.delivery_rate));
  pipe_was_full_ |= full_pipe_.full();
}

void Bbr::check_startup_loss(const AckSample& sample) {
  if (state_ != State::kStartup || !signals_.round_ended()) return;
  const bool lost_too_much = signals_.lost_ranges() >= k_full_loss_ranges &&
                             is_too_much(sample.lost_since_send, sample.in_flight_at_send);
  if (!lost_too_much && !signals_.marked()) return;
  if (undo_) undo_->interrupted = State::kStartup;
  pipe_was_full_ = true;
  bounds_.long_term_volume =
      std::max({path_volume(bandwidth()), signals_.volume(), minimum_window()});
}

void Bbr::check_startup_done(const AckSample& sample) {
  if (state_ == State::kStartup && pipe_was_full_) {
    state_ = State::kDrain;
    drain_start_ = rounds_.count();
  }
  if (state_ != State::kDrain) return;
  const double in_flight = static_cast<double>(sample.bytes_in_flight);
  if (in_flight <= with_quanta(path_volume(bandwidth())) ||
      rounds_.count() > drain_start_ + k_max_drain) {
    start_down(sample.now, sample.delivered);
  }
}

}  // namespace sheaf::quic
