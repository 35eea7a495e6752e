#pragma once

#include <sys/random.h>

#include <array>
#include <cstdlib>

#include "util/random.h"

namespace sheaf::io {

// The kernel's generator, fetched in blocks. For one thread.
class SystemRandom final : public quic::Random {
 public:
  void fill(quic::MutableBytes out) override {
    for (std::uint8_t& byte : out) {
      if (used_ == block_.size()) refill();
      byte = block_[used_];
      block_[used_++] = 0;  // used once: it must not be found in memory later
    }
  }

 private:
  void refill() {
    // Up to 256 bytes cannot fail or be cut short (getrandom(2)).
    if (getrandom(block_.data(), block_.size(), 0) != static_cast<ssize_t>(block_.size())) {
      std::abort();
    }
    used_ = 0;
  }
  std::array<std::uint8_t, 256> block_{};
  std::size_t used_ = block_.size();
};

}  // namespace sheaf::io
