#pragma once

#include <optional>

#include "util/bytes.h"
#include "wire/types.h"

namespace sheaf::quic {

// Encoding of packet numbers (RFC 9000 §17.1 and appendix A)
std::size_t packet_number_length(PacketNumber number, PacketNumber largest_acknowledged);
PacketNumber decode_packet_number(PacketNumber largest_received, std::uint64_t truncated,
                                  std::size_t length);

// First byte of a short header (RFC 9000 §17.3.1) before header protection.
inline constexpr std::uint8_t k_fixed_bit = 0x40;
inline constexpr std::uint8_t k_spin_bit = 0x20;
inline constexpr std::uint8_t k_key_phase_bit = 0x04;
inline constexpr std::uint8_t k_short_reserved_bits = 0x18;
inline constexpr std::uint8_t k_long_header_bit = 0x80;

enum class LongPacketType : std::uint8_t { kInitial, kZeroRtt, kHandshake, kRetry };

// The part of a long header that is readable without keys. Spans point into the datagram.
struct LongHeader {
  std::uint32_t version = 0;
  LongPacketType type = LongPacketType::kInitial;
  ConnectionId destination{};
  ConnectionId source{};
  Bytes token{};                         // Initial only
  std::size_t packet_number_offset = 0;  // from the start of the packet
  std::size_t packet_length = 0;         // header to the end of the packet, in bytes
};

// Decodes the first of coalesced packets. Returns nothing for versions other than 1 and 2, Retry,
// Version Negotiation, and bytes that are not a whole packet.
std::optional<LongHeader> decode_long_header(Bytes packet);

}  // namespace sheaf::quic
