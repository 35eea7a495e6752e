#pragma once

#include "wire/frame.h"

namespace sheaf::quic {

// What a packet may carry (RFC 9000 §12.4 table 3).
enum class PacketType : std::uint8_t { kZeroRtt, kOneRtt };

// Decodes the next frame. Checks everything that a frame alone can violate: encoding
// (FRAME_ENCODING_ERROR), frames forbidden in the packet type (PROTOCOL_VIOLATION), a type that is
// not encoded in its shortest form, values beyond 2^60 for stream counts, stream offsets beyond
// 2^62-1, connection id lengths, empty NEW_TOKEN.
Result<Frame, TransportError> decode_frame(Reader& reader, PacketType packet_type);

// Walks the ranges of an ACK frame from the largest packet number down, as closed intervals.
class AckRangeReader {
 public:
  explicit AckRangeReader(const AckFrame& frame);
  // False when there is no range left.
  bool next(PacketNumber& first, PacketNumber& last);

 private:
  Reader gaps_;
  PacketNumber next_largest_;
  std::uint64_t length_;  // of the range that is next, minus 1
  std::uint64_t remaining_;
};

// Encoded size in bytes; the writer must have that much room.
std::size_t encoded_size(const Frame& frame);
void encode(Writer& writer, const Frame& frame);

// STREAM frames are built around their data instead of from a struct: the header is written, then
// the caller puts the data behind it.
struct StreamFrameHeader {
  StreamId stream;
  std::uint64_t offset = 0;
  std::size_t length = 0;
  bool fin = false;
  // Without a length field the frame must be the last of its packet (RFC 9000 §19.8).
  bool has_length = true;
};
std::size_t encoded_size(const StreamFrameHeader& header);
void encode(Writer& writer, const StreamFrameHeader& header);

// RFC 9000 §19.3; `ranges` are closed intervals from the largest down, at least one.
struct AckRange {
  PacketNumber first = 0;
  PacketNumber last = 0;
};
// Writes as many ranges as fit and returns how many that were; 0 when not even one fits.
std::size_t encode_ack(Writer& writer, std::span<const AckRange> ranges, std::uint64_t delay,
                       const std::optional<EcnCounts>& ecn);

}  // namespace sheaf::quic
