#include "congestion/cubic.h"

#include <algorithm>
#include <cmath>

namespace sheaf::quic {

namespace {

constexpr double k_cubic_beta = 0.7;  // RFC 9438 §4.6
constexpr double k_c = 0.4;           // §5.1, in segments per cubic second
// Factor by which Reno, shrinking by beta instead of one half, is as aggressive as the original
// (§4.3).
constexpr double k_reno_growth = 3 * (1 - k_cubic_beta) / (1 + k_cubic_beta);

}  // namespace

double Cubic::curve(const Epoch& epoch, Duration elapsed) const {
  const double offset = to_seconds(elapsed) - epoch.k_seconds;
  return k_c * datagram_size() * offset * offset * offset + epoch.maximum;  // §4.2 figure 1
}

void Cubic::start_epoch(Time now) {
  const double window = current_window();
  Epoch epoch{.start = now, .maximum = maximum_};
  if (window < maximum_) {
    epoch.k_seconds = std::cbrt((maximum_ - window) / (k_c * datagram_size()));
  } else {
    // §4.10: without an earlier congestion event, the curve starts at its turning point.
    epoch.maximum = window;
  }
  epoch.reno_estimate = window;
  epoch.reno_window_before = std::max(window_before_, window);
  epoch_ = epoch;
}

double Cubic::grown_window(const AckSample& sample) {
  if (!epoch_) start_epoch(sample.now);
  const double window = current_window();
  const double acknowledged = static_cast<double>(sample.acknowledged_bytes) / window;
  const Duration elapsed = sample.now - epoch_->start;

  const double growth = epoch_->reno_estimate >= epoch_->reno_window_before ? 1.0 : k_reno_growth;
  epoch_->reno_estimate += growth * datagram_size() * acknowledged;
  // §4.3: where Reno would be faster, be as fast.
  if (curve(*epoch_, elapsed) < epoch_->reno_estimate) {
    return std::max(window, epoch_->reno_estimate);
  }
  // §4.4, §4.5: move towards the point that the curve reaches one round trip from now.
  const double target =
      std::clamp(curve(*epoch_, elapsed + round_trip(sample)), window, 1.5 * window);
  return window + (target - window) * std::min(acknowledged, 1.0);
}

double Cubic::reduced_window() {
  const double window = current_window();
  window_before_ = window;
  // §4.7, fast convergence: a flow that lost before it reached its maximum again makes room.
  maximum_ = window < maximum_ ? window * (1 + k_cubic_beta) / 2 : window;
  return window * k_cubic_beta;
}

void Cubic::on_pause(Duration pause) {
  // §5.8: time in which the window was not used does not count along the curve.
  if (epoch_) epoch_->start += pause;
}

void Cubic::on_undo() {
  // §4.9.2: restore the state from before the spurious event.
  maximum_ = remembered_.maximum;
  window_before_ = remembered_.window_before;
  epoch_ = remembered_.epoch;
}

}  // namespace sheaf::quic
