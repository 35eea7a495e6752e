#pragma once

#include <sys/random.h>

#include <array>
#include <cstdlib>

#include "util/random.h"

namespace sheaf::io {

// Reads the kernel's random generator in blocks. An object must be used by one thread only.
class SystemRandom final : public quic::Random {
 public:
  void fill(quic::MutableBytes out) override {
    for (std::uint8_t& byte : out) {
      if (used_ == block_.size()) refill();
      byte = block_[used_];
      block_[used_++] = 0;  // erased so that nobody finds it in memory later
    }
  }

 private:
  void refill() {
    // getrandom(2): a request for up to 256 bytes neither fails nor is cut short.
    if (getrandom(block_.data(), block_.size(), 0) != static_cast<ssize_t>(block_.size())) {
      std::abort();
    }
    used_ = 0;
  }
  std::array<std::uint8_t, 256> block_{};
  std::size_t used_ = block_.size();
};

}  // namespace sheaf::io
