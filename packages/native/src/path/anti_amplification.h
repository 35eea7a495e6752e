#pragma once

#include <cstdint>

namespace sheaf::quic {

// Bounds what is sent to an address that is not validated: three times what was received from it
// (RFC 9000 §8.1). Each datagram counts once, however many packets it carries.
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
  // The allowance is large enough to be worth a packet.
  bool may_send() const { return allowance() >= k_min_packet; }

 private:
  static constexpr std::uint64_t k_min_packet = 64;

  std::uint64_t received_ = 0;
  std::uint64_t sent_ = 0;
  bool validated_ = false;
};

}  // namespace sheaf::quic
