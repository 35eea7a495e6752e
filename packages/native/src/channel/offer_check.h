#pragma once

#include <optional>

#include "channel/channel_messages.h"

namespace sheaf::quic {

// Timers of a receiver follow the interval of its reports, so a shorter one would keep it busy.
inline constexpr Duration k_min_report_interval = std::chrono::milliseconds(10);

// What a receiver takes
struct ChannelLimits {
  std::uint64_t max_rate = 125'000'000;  // bytes per second
  std::uint16_t max_packet_size = 1452;
  std::uint32_t max_reach = 16'384;  // packets; with the size above at most 24 MB
};

// Returns why a receiver refuses an offer that it could decode, or nothing. A source could
// otherwise make its receivers join any group of their network, and store as much as it likes. Who
// decides whether the source of the group may be joined at all is the caller.
std::optional<LeaveReason> objection(const ChannelOffer& offer, const ChannelLimits& limits);

}  // namespace sheaf::quic
