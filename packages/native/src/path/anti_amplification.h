#pragma once

#include <cstdint>

namespace sheaf::quic {

// RFC 9000 §8.1: three times what was received, until the address is validated. Each datagram
// counts once, however many packets it carries.
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
  // Whether the allowance is worth a packet.
  bool may_send() const { return allowance() >= k_min_packet; }

 private:
  static constexpr std::uint64_t k_min_packet = 64;

  std::uint64_t received_ = 0;
  std::uint64_t sent_ = 0;
  bool validated_ = false;
};

}  // namespace sheaf::quic
