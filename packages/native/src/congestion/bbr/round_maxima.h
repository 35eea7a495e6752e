#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace sheaf::quic::bbr {

// The largest values of the last ten rounds, one of each
class RoundMaxima {
 public:
  static constexpr std::uint64_t k_rounds = 10;

  // Begins rounds up to this one, which is not before the last one.
  void advance(std::uint64_t round) {
    const std::uint64_t passed = std::min(round - round_, k_rounds);
    for (std::uint64_t i = 1; i <= passed; ++i) maxima_[(round_ + i) % k_rounds] = 0;
    round_ = round;
  }
  // Adds a value of the last round.
  void add(double value) {
    double& maximum = maxima_[round_ % k_rounds];
    maximum = std::max(maximum, value);
  }
  // Returns the maximum over the last `rounds` rounds, of which there may be `k_rounds`.
  double maximum(std::uint64_t rounds = k_rounds) const {
    double maximum = 0;
    for (std::uint64_t i = 0; i < std::min({rounds, k_rounds, round_ + 1}); ++i) {
      maximum = std::max(maximum, maxima_[(round_ - i) % k_rounds]);
    }
    return maximum;
  }

 private:
  std::uint64_t round_ = 0;
  std::array<double, k_rounds> maxima_{};  // by round, modulo k_rounds
};

}  // namespace sheaf::quic::bbr
