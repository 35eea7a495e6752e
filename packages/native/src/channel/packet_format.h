#pragma once

#include <algorithm>

#include "crypto/channel_secret.h"
#include "crypto/packet_protection.h"
#include "wire/packet_header.h"

namespace sheaf::quic {

// A packet of a channel has a short header (RFC 9000 §17.3.1) whose connection id is the channel's,
// and a packet number of four bytes. Numbers are consecutive: a gap is a packet that is missing.
inline constexpr std::size_t k_channel_number_length = 4;
inline constexpr std::size_t k_channel_overhead = k_channel_header_length + k_aead_tag_length;

// Every path of QUIC carries datagrams of this size (RFC 9000 §14).
inline constexpr std::uint16_t k_min_channel_packet_size = 1200;

// Writes the header in clear. `proof`: the packet has integrity frames.
inline void write_channel_header(Writer& out, const ChannelId& channel, bool key_phase,
                                 PacketNumber number, bool proof = false) {
  out.write_u8(static_cast<std::uint8_t>(k_fixed_bit | (key_phase ? k_key_phase_bit : 0) |
                                         (proof ? k_channel_proof_bit : 0) |
                                         (k_channel_number_length - 1)));
  out.write_bytes(channel);
  out.write_u32(static_cast<std::uint32_t>(number));
}

// Returns whether the datagram has the form of a packet of this channel. Nothing is known of it
// then.
inline bool may_be_of_channel(const ChannelId& channel, Bytes packet) {
  return packet.size() > k_channel_overhead &&
         (packet[0] & (k_long_header_bit | k_fixed_bit | k_spin_bit)) == k_fixed_bit &&
         std::equal(channel.begin(), channel.end(), packet.begin() + 1);
}

}  // namespace sheaf::quic
