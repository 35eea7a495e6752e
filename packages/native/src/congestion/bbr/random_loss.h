#pragma once

#include <algorithm>
#include <cmath>

#include "util/time.h"

namespace sheaf::quic::bbr {

// Estimates loss that does not depend on how much is in flight. Without it, the draft's bounds
// would leave half of a radio link empty that loses one packet in a hundred
// (docs/decisions/0008-bbr-tolerates-random-loss.md). Losses in cruising rounds without a queue
// count as random, up to a limit, and are tolerated in addition to what BBR itself tolerates.
class RandomLoss {
 public:
  struct Round {
    double delivered = 0;  // bytes
    double lost = 0;       // bytes
    Duration rtt{};        // the round's minimum
    Duration minimum_rtt{};
  };
  void on_quiet_round(const Round& round) {
    if (round.rtt > round.minimum_rtt + std::max(round.minimum_rtt / 8, k_jitter)) return;
    const double sent = round.delivered + round.lost;
    sent_ += sent - sent_ / k_rounds;
    lost_ += std::min(round.lost, k_limit * sent) - lost_ / k_rounds;
  }
  // Returns an upper bound on random losses among `bytes`: two standard deviations above the mean,
  // since the packets of one flight are few.
  double largest(double bytes, double datagram) const {
    if (lost_ <= 0) return 0;
    const double mean = bytes * lost_ / sent_;
    return mean + 2 * std::sqrt(mean * datagram);
  }

 private:
  static constexpr double k_limit = 0.04;
  static constexpr double k_rounds = 32;
  static constexpr Duration k_jitter = std::chrono::milliseconds(1);

  double sent_ = 0;  // bytes of the last rounds, the older ones fading
  double lost_ = 0;
};

}  // namespace sheaf::quic::bbr
