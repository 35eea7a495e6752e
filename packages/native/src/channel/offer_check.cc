#include "channel/offer_check.h"

#include "channel/packet_format.h"
#include "util/one_host.h"

namespace sheaf::quic {
namespace {

// Ports below belong to services of the system, which a group must not be able to reach.
constexpr std::uint16_t k_first_port = 1024;

// RFC 4607 §1: 232.0.0.0/8 without the reserved 232.0.0.0/24, and ff3x::/32
bool is_source_specific(const Address& group) {
  if (group.family == Address::Family::kIpv4) {
    return group.ip[0] == 232 && (group.ip[1] != 0 || group.ip[2] != 0);
  }
  return group.ip[0] == 0xff && (group.ip[1] & 0xf0) == 0x30 && group.ip[2] == 0 &&
         group.ip[3] == 0;
}

bool addresses_are_right(const ChannelOffer& offer) {
  if (!leads_to_one_host(offer.source) || offer.source.port < k_first_port) return false;
  if (!offer.has_group()) return true;
  return offer.group.family == offer.source.family && is_source_specific(offer.group) &&
         offer.group.port >= k_first_port;
}

}  // namespace

std::optional<LeaveReason> objection(const ChannelOffer& offer, const ChannelLimits& limits) {
  if (offer.withdrawn()) return LeaveReason::kWithdrawn;
  if (!addresses_are_right(offer)) return LeaveReason::kAddress;
  if (offer.packet_size < k_min_channel_packet_size || offer.packet_size > limits.max_packet_size) {
    return LeaveReason::kPacketSize;
  }
  if (offer.max_rate == 0 || offer.max_rate > limits.max_rate) return LeaveReason::kRate;
  if (offer.reach > limits.max_reach) return LeaveReason::kReach;
  if (offer.report_interval < k_min_report_interval) return LeaveReason::kRate;
  if (!is_known(offer.authentication)) return LeaveReason::kScheme;
  return std::nullopt;
}

}  // namespace sheaf::quic
