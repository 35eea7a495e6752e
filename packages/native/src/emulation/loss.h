#pragma once

#include "emulation/link_config.h"
#include "util/random.h"

namespace sheaf::quic {

// Numbers in [0, 1) that depend on the one before. Where a draw repeats it with a probability, they
// stay uniform, and two that are k draws apart correlate with the k-th power of that probability.
// Where a draw is averaged with it, as netem does (get_crandom), they gather around the middle.
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

// Datagrams are lost at random, each with the same probability.
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
