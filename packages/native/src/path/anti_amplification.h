#pragma once

#include <cstdint>

namespace sheaf::quic {

// RFC 9000 §8: three times what was received, until the address is validated.
class AntiAmplification {
 public:
  void on_received(std::uint64_t bytes) { received_ += bytes; }
  void on_sent(std::uint64_t bytes) { sent_ += bytes; }
  void validate() { validated_ = true; }
  bool validated() const { return validated_; }
  std::uint64_t allowance() const {
    if (validated_) return UINT64_MAX;
    return 3 * received_ > sent_ ? 3 * received_ - sent_ : 0;
  }

 private:
  std::uint64_t received_ = 0;
  std::uint64_t sent_ = 0;
  bool validated_ = false;
};

}  // namespace sheaf::quic
