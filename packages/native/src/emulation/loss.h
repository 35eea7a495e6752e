#pragma once

#include "emulation/link_config.h"
#include "util/random.h"

namespace sheaf::quic {

// Generates numbers in [0, 1) that depend on the one before. If a draw repeats the previous one
// with a probability, the numbers stay uniform, and two draws at distance k correlate with the k-th
// power of that probability. If a draw is averaged with the previous one, as in netem
// (get_crandom), the numbers gather around the middle.
class CorrelatedUniform {
 public:
  double next(Random& random, double correlation, CorrelationKind kind) {
    if (kind == CorrelationKind::kAverages) {
      const double before = last_ >= 0 ? last_ : random.uniform();
      return last_ = random.uniform() * (1 - correlation) + before * correlation;
    }
    const bool repeats = last_ >= 0 && correlation > 0 && random.uniform() < correlation;
    if (!repeats) last_ = random.uniform();
    return last_;
  }

 private:
  double last_ = -1;  // none yet
};

// Loses datagrams at random, each with the same probability.
class RandomLoss {
 public:
  bool next(const LinkConfig& config, Random& random) {
    return config.loss > 0 &&
           uniform_.next(random, config.loss_correlation, config.correlation_kind) < config.loss;
  }

 private:
  CorrelatedUniform uniform_;
};

class BurstLoss {
 public:
  bool next(const GilbertElliott& config, Random& random) {
    if (config.enter_bad == 0 && config.loss_good == 0) {
      is_bad_ = false;
      return false;
    }
    const double loss = is_bad_ ? config.loss_bad : config.loss_good;
    const double change = is_bad_ ? config.leave_bad : config.enter_bad;
    const bool lost = random.uniform() < loss;
    if (random.uniform() < change) is_bad_ = !is_bad_;
    return lost;
  }

 private:
  bool is_bad_ = false;
};

}  // namespace sheaf::quic
