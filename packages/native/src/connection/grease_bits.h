#pragma once

#include <cstdint>

#include "util/random.h"

namespace sheaf::quic {

// Draws random values for the fixed bit of packets (RFC 9287 §3.1), 64 with one call.
class GreaseBits {
 public:
  bool next(Random& random) {
    if (left_ == 0) {
      bits_ = random.next();
      left_ = 64;
    }
    const bool bit = bits_ & 1;
    bits_ >>= 1;
    --left_;
    return bit;
  }

 private:
  std::uint64_t bits_ = 0;
  unsigned left_ = 0;
};

}  // namespace sheaf::quic
