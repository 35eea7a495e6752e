#pragma once

#include <array>
#include <cstdint>

#include "util/bytes.h"

namespace sheaf::quic {

// Source of randomness given to everything that needs one.
class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(MutableBytes out) = 0;
  std::uint64_t next() {
    std::array<std::uint8_t, 8> bytes;
    fill(bytes);
    std::uint64_t value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  // Uniform in [0, bound); 0 for bound 0.
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
};

// xoshiro256**: reproducible, for simulation and tests only. Its output is predictable.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed);
  void fill(MutableBytes out) override;

 private:
  std::uint64_t step();
  std::array<std::uint64_t, 4> state_;
};

}  // namespace sheaf::quic
