#pragma once

#include <cstdint>

namespace sheaf::quic {

// Why a receiver leaves a channel. The values are on the wire.
enum class LeaveReason : std::uint8_t {
  kWish = 0,           // the application left
  kAddress = 1,        // the offer names no group of one source, or addresses nobody may join
  kPacketSize = 2,     // above what the receiver takes
  kRate = 3,           // above what the receiver takes
  kReach = 4,          // above what the receiver stores
  kScheme = 5,         // of authentication: not known, or with parameters that no source writes
  kChannels = 6,       // the receiver has as many channels as it takes
  kForgedPackets = 7,  // too many packets were not the source's
  kMalformed = 8,      // the source sent what no source sends
  kWithdrawn = 9,      // the source withdrew its offer
};
inline constexpr auto k_last_leave_reason = LeaveReason::kWithdrawn;

}  // namespace sheaf::quic
