#pragma once

#include <array>
#include <cstdint>

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
  double maximum(std::uint64_t rounds) const;

  static constexpr std::uint64_t k_rounds = 10;

 private:
  void advance(std::uint64_t round);

  Time start_{};
  double delivered_ = 0;  // bytes since then
  std::uint64_t round_ = 0;
  std::array<double, k_rounds> maxima_{};  // by round, modulo k_rounds
};

}  // namespace sheaf::quic::bbr
