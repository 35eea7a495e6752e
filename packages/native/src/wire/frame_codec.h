#pragma once

#include "wire/frame.h"

namespace sheaf::quic {

// Flags in the type of a STREAM frame (RFC 9000 §19.8).
inline constexpr std::uint8_t k_stream_offset_bit = 0x04;
inline constexpr std::uint8_t k_stream_length_bit = 0x02;
inline constexpr std::uint8_t k_stream_fin_bit = 0x01;

// Types of packets, which may carry different frames (RFC 9000 §12.4 table 3)
enum class PacketType : std::uint8_t { kZeroRtt, kOneRtt };

// Decodes the next frame. Checks everything that a frame alone can violate: encoding
// (FRAME_ENCODING_ERROR), frames forbidden in the packet type (PROTOCOL_VIOLATION), a type not
// encoded in its shortest form, stream counts above 2^60, stream offsets above 2^62-1, connection
// id lengths, and an empty NEW_TOKEN.
Result<Frame, TransportError> decode_frame(Reader& reader, PacketType packet_type);

// Reads one of the frames that fill most packets, without the cost of the variant. Returns true
// if the next frame is a correct one of that type. Otherwise the reader stays where it was, for
// `decode_frame`. ACK and PATH_ACK are not allowed in 0-RTT packets.
bool read_ack_frame(Reader& reader, AckFrame& frame);
bool read_path_ack_frame(Reader& reader, PathAckFrame& frame);
inline bool read_stream_frame(Reader& reader, StreamFrame& frame) {
  Reader next({reader.position(), reader.remaining()});
  const std::uint8_t type = next.read_u8();
  if ((type & 0xf8) != static_cast<std::uint8_t>(FrameType::kStream)) return false;
  frame.stream.value = next.read_varint();
  frame.offset = type & k_stream_offset_bit ? next.read_varint() : 0;
  frame.data = type & k_stream_length_bit ? next.read_bytes(next.read_varint()) : next.read_rest();
  frame.fin = type & k_stream_fin_bit;
  if (!next.ok() || frame.data.size() > k_max_varint - frame.offset) return false;
  reader = next;
  return true;
}

// Walks the ranges of an ACK frame from the largest packet number down, as closed intervals.
class AckRangeReader {
 public:
  explicit AckRangeReader(const AckFrame& frame);
  // Returns false when no range is left.
  bool next(PacketNumber& first, PacketNumber& last);

 private:
  Reader gaps_;
  PacketNumber next_largest_;
  std::uint64_t length_;  // of the next range, minus 1
  std::uint64_t remaining_;
};

// Returns the encoded size in bytes. `encode` needs that much room in the writer.
std::size_t encoded_size(const Frame& frame);
void encode(Writer& writer, const Frame& frame);

// Header of a STREAM frame. These frames are not built from a struct: the caller puts the data
// behind the written header.
struct StreamFrameHeader {
  StreamId stream{};
  std::uint64_t offset = 0;
  std::size_t length = 0;
  bool fin = false;
  // A frame without a length field must be the last of its packet (RFC 9000 §19.8).
  bool has_length = true;
};
inline std::size_t encoded_size(const StreamFrameHeader& header) {
  return 1 + varint_size(header.stream.value) +
         (header.offset == 0 ? 0 : varint_size(header.offset)) +
         (header.has_length ? varint_size(header.length) : 0);
}
inline void encode(Writer& writer, const StreamFrameHeader& header) {
  std::uint8_t type = static_cast<std::uint8_t>(FrameType::kStream);
  if (header.offset != 0) type |= k_stream_offset_bit;
  if (header.has_length) type |= k_stream_length_bit;
  if (header.fin) type |= k_stream_fin_bit;
  writer.write_u8(type);
  writer.write_varint(header.stream.value);
  if (header.offset != 0) writer.write_varint(header.offset);
  if (header.has_length) writer.write_varint(header.length);
}

// A closed interval of packet numbers
struct AckRange {
  PacketNumber first = 0;
  PacketNumber last = 0;
};
// Writes an ACK frame, or a PATH_ACK if there is a path (RFC 10069 §4.1). `ranges` has at least one
// range, from the largest down (RFC 9000 §19.3). Returns how many ranges fit; 0 when not even one
// does.
std::size_t encode_ack(Writer& writer, std::span<const AckRange> ranges, std::uint64_t delay,
                       const std::optional<EcnCounts>& ecn,
                       std::optional<PathId> path = std::nullopt);

}  // namespace sheaf::quic
