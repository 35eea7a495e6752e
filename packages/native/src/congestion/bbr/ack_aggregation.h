#pragma once

#include <cstdint>

#include "congestion/bbr/round_maxima.h"
#include "util/time.h"

namespace sheaf::quic::bbr {

// Measures how much more is acknowledged at once than the rate explains (draft-ietf-ccwg-bbr
// §5.5.9), since links and receivers collect acknowledgements. That much more may be in flight.
// Otherwise the sender would fall silent between them.
class AckAggregation {
 public:
  struct Acknowledged {
    std::uint64_t bytes = 0;
    double rate = 0;    // bytes per second that the model expects
    double window = 0;  // bound on samples
    std::uint64_t round = 0;
    Time now{};
  };
  void on_acknowledgement(const Acknowledged& acknowledged);
  void restart(Time now);
  // Returns the maximum in bytes over the last `rounds` rounds, of which there may be `k_rounds`.
  double maximum(std::uint64_t rounds) const { return maxima_.maximum(rounds); }

  static constexpr std::uint64_t k_rounds = RoundMaxima::k_rounds;

 private:
  Time start_{};
  double delivered_ = 0;  // bytes since then
  RoundMaxima maxima_;
};

}  // namespace sheaf::quic::bbr
