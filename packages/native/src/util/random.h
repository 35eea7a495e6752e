#pragma once

#include <array>
#include <cstdint>

#include "util/bytes.h"

namespace sheaf::quic {

// The source of randomness given to everything that needs one.
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
  // Returns a uniform number in [0, bound); 0 for bound 0.
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  // Returns a uniform number in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
};

// xoshiro256**: reproducible and predictable, for simulation and tests only.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed);
  void fill(MutableBytes out) override;

 private:
  std::uint64_t step();
  std::array<std::uint64_t, 4> state_;
};

}  // namespace sheaf::quic
