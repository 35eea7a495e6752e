#include "wire/packet_header.h"

#include <bit>

namespace sheaf::quic {
namespace {

// RFC 9000 §17.2 for version 1, RFC 9369 §3.2 for version 2.
LongPacketType long_packet_type(std::uint32_t version, std::uint8_t first_byte) {
  const std::uint8_t bits = first_byte >> 4 & 0x03;
  return static_cast<LongPacketType>(version == k_version_2 ? (bits + 3) & 0x03 : bits);
}

std::optional<ConnectionId> read_connection_id(Reader& reader) {
  const std::uint8_t length = reader.read_u8();
  if (length > ConnectionId::k_max_length) return std::nullopt;
  return ConnectionId(reader.read_bytes(length));
}

}  // namespace

std::size_t packet_number_length(PacketNumber number, PacketNumber largest_acknowledged) {
  // Twice the distance must fit. Otherwise the receiver could choose the wrong window. If nothing
  // is acknowledged, the distance counts from -1, which k_no_packet_number wraps to.
  const std::uint64_t in_flight = number - largest_acknowledged;
  if (in_flight <= 1u << 7) return 1;
  if (in_flight <= 1u << 15) return 2;
  if (in_flight <= 1u << 23) return 3;
  return 4;
}

PacketNumber decode_packet_number(PacketNumber largest_received, std::uint64_t truncated,
                                  std::size_t length) {
  const PacketNumber expected = largest_received + 1;  // 0 for k_no_packet_number
  const std::uint64_t window = std::uint64_t{1} << (8 * length);
  const std::uint64_t half_window = window / 2;
  const PacketNumber candidate = (expected & ~(window - 1)) | truncated;
  if (candidate + half_window <= expected && candidate < k_max_varint + 1 - window) {
    return candidate + window;
  }
  const bool too_large = candidate > expected + half_window || candidate > k_max_varint;
  if (too_large && candidate >= window) return candidate - window;
  return candidate;
}

std::optional<LongHeader> decode_long_header(Bytes packet) {
  Reader reader{packet};
  const std::uint8_t first_byte = reader.read_u8();
  // The fixed bit is not checked here: RFC 9287 lets a peer clear it.
  if ((first_byte & k_long_header_bit) == 0) return std::nullopt;
  LongHeader header;
  header.version = reader.read_u32();
  if (header.version != k_version_1 && header.version != k_version_2) return std::nullopt;
  header.type = long_packet_type(header.version, first_byte);
  if (header.type == LongPacketType::kRetry) return std::nullopt;

  const auto destination = read_connection_id(reader);
  const auto source = destination ? read_connection_id(reader) : std::nullopt;
  if (!source) return std::nullopt;
  header.destination = *destination;
  header.source = *source;
  if (header.type == LongPacketType::kInitial)
    header.token = reader.read_bytes(reader.read_varint());
  const std::uint64_t length = reader.read_varint();
  if (!reader.ok() || length > reader.remaining()) return std::nullopt;
  header.packet_number_offset = packet.size() - reader.remaining();
  header.packet_length = header.packet_number_offset + length;
  return header;
}

}  // namespace sheaf::quic
