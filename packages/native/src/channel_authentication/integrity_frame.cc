#include "channel_authentication/integrity_frame.h"

namespace sheaf::quic {
namespace {

enum class Kind : std::uint8_t { kFlight, kList, kDisclosure, kTags, kStream };

constexpr std::size_t k_type_length = 4;

bool valid_hash_length(std::uint8_t length) { return length == 16 || length == 32; }

bool plausible(const FlightFrame& frame) {
  const bool lists = frame.per_list != 0;
  return valid_hash_length(frame.hash_length) && frame.count > 0 &&
         frame.first <= k_max_varint - frame.count && frame.per_list <= k_max_list_hashes &&
         frame.hash_count() <= (lists ? k_max_lists : k_max_list_hashes);
}

std::optional<IntegrityFrame> read_flight(Reader& reader) {
  FlightFrame frame;
  frame.first = reader.read_varint();
  frame.key_sequence = reader.read_varint();
  const std::uint64_t count = reader.read_varint();
  const std::uint64_t per_list = reader.read_varint();
  frame.hash_length = reader.read_u8();
  if (count > k_max_flight_packets || per_list > k_max_list_hashes) return std::nullopt;
  frame.count = static_cast<std::uint32_t>(count);
  frame.per_list = static_cast<std::uint16_t>(per_list);
  if (!plausible(frame)) return std::nullopt;
  frame.hashes = reader.read_bytes(frame.hash_count() * frame.hash_length);
  frame.signature = reader.read_bytes(k_signature_length);
  return frame;
}

std::optional<IntegrityFrame> read_list(Reader& reader) {
  ListFrame frame;
  frame.first = reader.read_varint();
  frame.hash_length = reader.read_u8();
  const std::uint64_t count = reader.read_varint();
  if (!valid_hash_length(frame.hash_length) || count == 0 || count > k_max_list_hashes ||
      frame.first > k_max_varint - count) {
    return std::nullopt;
  }
  frame.hashes = reader.read_bytes(count * frame.hash_length);
  return frame;
}

std::optional<IntegrityFrame> read_disclosure(Reader& reader) {
  DisclosureFrame frame;
  frame.interval = reader.read_u32();
  frame.key = reader.read_bytes(k_disclosed_key_length);
  return frame;
}

std::optional<IntegrityFrame> read_tags(Reader& reader) {
  TagsFrame frame;
  frame.number = reader.read_varint();
  const std::uint64_t count = reader.read_varint();
  if (count == 0 || count > reader.remaining() / k_receiver_tag_length) return std::nullopt;
  frame.entries = reader.read_bytes(count * k_receiver_tag_length);
  return frame;
}

std::optional<IntegrityFrame> read_stream(Reader& reader) {
  StreamSignatureFrame frame;
  frame.stream = reader.read_varint();
  frame.length = reader.read_varint();
  frame.signature = reader.read_bytes(k_signature_length);
  return frame;
}

std::optional<IntegrityFrame> read_kind(std::uint8_t kind, Reader& reader) {
  switch (static_cast<Kind>(kind)) {
    case Kind::kFlight:
      return read_flight(reader);
    case Kind::kList:
      return read_list(reader);
    case Kind::kDisclosure:
      return read_disclosure(reader);
    case Kind::kTags:
      return read_tags(reader);
    case Kind::kStream:
      return read_stream(reader);
  }
  return std::nullopt;
}

// Writes the frames. `size_of` is known before anything is written.
struct FrameWriter {
  Writer& out;

  void begin(Kind kind) {
    out.write_varint(k_integrity_frame_type, k_type_length);
    out.write_u8(static_cast<std::uint8_t>(kind));
  }
  void operator()(const FlightFrame& frame) {
    begin(Kind::kFlight);
    out.write_varint(frame.first);
    out.write_varint(frame.key_sequence);
    out.write_varint(frame.count);
    out.write_varint(frame.per_list);
    out.write_u8(frame.hash_length);
    out.write_bytes(frame.hashes);
    out.write_bytes(frame.signature);
  }
  void operator()(const ListFrame& frame) {
    begin(Kind::kList);
    out.write_varint(frame.first);
    out.write_u8(frame.hash_length);
    out.write_varint(frame.count());
    out.write_bytes(frame.hashes);
  }
  void operator()(const DisclosureFrame& frame) {
    begin(Kind::kDisclosure);
    out.write_u32(frame.interval);
    out.write_bytes(frame.key);
  }
  void operator()(const TagsFrame& frame) {
    begin(Kind::kTags);
    out.write_varint(frame.number);
    out.write_varint(frame.entries.size() / k_receiver_tag_length);
    out.write_bytes(frame.entries);
  }
  void operator()(const StreamSignatureFrame& frame) {
    begin(Kind::kStream);
    out.write_varint(frame.stream);
    out.write_varint(frame.length);
    out.write_bytes(frame.signature);
  }
};

struct FrameSize {
  std::size_t operator()(const FlightFrame& frame) const {
    return flight_frame_overhead(frame.first, frame.key_sequence) + frame.hashes.size();
  }
  std::size_t operator()(const ListFrame& frame) const {
    return list_frame_overhead(frame.first) + frame.hashes.size();
  }
  std::size_t operator()(const DisclosureFrame&) const {
    return k_type_length + 1 + 4 + k_disclosed_key_length;
  }
  std::size_t operator()(const TagsFrame& frame) const {
    return k_type_length + 1 + varint_size(frame.number) +
           varint_size(frame.entries.size() / k_receiver_tag_length) + frame.entries.size();
  }
  std::size_t operator()(const StreamSignatureFrame& frame) const {
    return k_type_length + 1 + varint_size(frame.stream) + varint_size(frame.length) +
           k_signature_length;
  }
};

}  // namespace

std::size_t flight_frame_overhead(PacketNumber first, std::uint64_t key_sequence) {
  constexpr std::size_t k_counts = 2 + 2 + 1;  // packets, packets of a list, length of a hash
  return k_type_length + 1 + varint_size(first) + varint_size(key_sequence) + k_counts +
         k_signature_length;
}

std::size_t list_frame_overhead(PacketNumber first) {
  return k_type_length + 1 + varint_size(first) + 1 + 2;
}

std::optional<IntegrityFrame> decode_integrity_frame(Reader& reader) {
  if (reader.read_varint() != k_integrity_frame_type) return std::nullopt;
  const std::uint8_t kind = reader.read_u8();
  if (!reader.ok()) return std::nullopt;
  const auto frame = read_kind(kind, reader);
  return reader.ok() ? frame : std::nullopt;
}

void skip_integrity_frames(Reader& reader) {
  for (Reader ahead = reader; decode_integrity_frame(ahead);) reader = ahead;
}

std::size_t encode_integrity_frame(const IntegrityFrame& frame, MutableBytes room) {
  if (std::visit(FrameSize{}, frame) > room.size()) return 0;
  Writer out(room);
  std::visit(FrameWriter{out}, frame);
  return out.size();
}

}  // namespace sheaf::quic
