#pragma once

#include <cstdint>

namespace sheaf::quic {

// Policy: bounds the bytes that a connection repeats although they are not known to be lost
// (connection/retransmission.h) to a twentieth of all that it sent, plus a little for short
// transfers.
class RepeatBudget {
 public:
  std::uint64_t left(std::uint64_t bytes_sent) const {
    const std::uint64_t bound = bytes_sent / k_share + k_short_transfer;
    return bound > spent_ ? bound - spent_ : 0;
  }
  void spend(std::uint64_t bytes) { spent_ += bytes; }

 private:
  static constexpr std::uint64_t k_share = 20;
  static constexpr std::uint64_t k_short_transfer = 64 * 1024;

  std::uint64_t spent_ = 0;
};

}  // namespace sheaf::quic
