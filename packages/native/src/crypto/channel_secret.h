#pragma once

#include "crypto/traffic_secret.h"

namespace sheaf::quic {

// Length of the id of a multicast channel, which stands in its packets as their connection id
inline constexpr std::size_t k_channel_id_length = 8;
// Packet numbers of a channel always have four bytes.
inline constexpr std::size_t k_channel_header_length = 1 + k_channel_id_length + 4;
using ChannelId = std::array<std::uint8_t, k_channel_id_length>;

// In the first byte of a channel's packet, under header protection, one of the two bits that
// RFC 9000 §17.3.1 reserves: the packet has frames that prove themselves, and may be read for these
// before it is authenticated (docs/internals/multicast-authentication.md).
inline constexpr std::uint8_t k_channel_proof_bit = 0x08;

// The secret of one key of a channel. Keys are numbered one by one; the key phase bit is the lowest
// bit of the number.
struct ChannelSecret {
  std::uint64_t sequence = 0;
  PacketNumber first_number = 0;  // the first packet that this key seals
  TrafficSecret secret;
};

}  // namespace sheaf::quic
