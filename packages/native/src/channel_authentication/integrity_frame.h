#pragma once

#include <optional>
#include <variant>

#include "wire/types.h"

namespace sheaf::quic {

// Integrity frames of a channel (docs/internals/multicast-authentication.md#frames). Spans point
// into the frame's bytes.
inline constexpr std::uint64_t k_integrity_frame_type = 0x5eb6;

// Hashes of packets in one list, and lists in one flight
inline constexpr std::size_t k_max_list_hashes = 80;
inline constexpr std::size_t k_max_lists = 64;
inline constexpr std::size_t k_max_flight_packets = k_max_list_hashes * k_max_lists;
inline constexpr std::size_t k_max_hash_length = 32;
inline constexpr std::size_t k_signature_length = 64;
inline constexpr std::size_t k_disclosed_key_length = 16;
inline constexpr std::size_t k_receiver_tag_length = 8 + 16;  // receiver and tag

// A signed flight of consecutive packets
struct FlightFrame {
  PacketNumber first = 0;
  std::uint64_t key_sequence = 0;
  std::uint32_t count = 0;        // packets
  std::uint16_t per_list = 0;     // packets in each list but the last; 0: hashes of packets follow
  std::uint8_t hash_length = 16;  // 16 or 32
  Bytes hashes;                   // of the packets or of the lists
  Bytes signature;

  std::size_t hash_count() const {
    return per_list == 0 ? count : (std::size_t{count} + per_list - 1) / per_list;
  }
};

// One list of a flight that has several
struct ListFrame {
  PacketNumber first = 0;
  std::uint8_t hash_length = 16;
  Bytes hashes;

  std::size_t count() const { return hashes.size() / hash_length; }
};

// A key of the scheme `timed` that no packet uses any more
struct DisclosureFrame {
  std::uint32_t interval = 0;
  Bytes key;
};

// Tags of one packet for some of the receivers
struct TagsFrame {
  PacketNumber number = 0;
  Bytes entries;
};

// The signature of a whole stream
struct StreamSignatureFrame {
  std::uint64_t stream = 0;
  std::uint64_t length = 0;
  Bytes signature;
};

using IntegrityFrame =
    std::variant<FlightFrame, ListFrame, DisclosureFrame, TagsFrame, StreamSignatureFrame>;

// Reads a frame with its type. Returns nothing when it is malformed.
std::optional<IntegrityFrame> decode_integrity_frame(Reader& reader);

// Passes the frames that the reader is before.
void skip_integrity_frames(Reader& reader);

// Writes a frame with its type. Returns its length, or 0 when it does not fit.
std::size_t encode_integrity_frame(const IntegrityFrame& frame, MutableBytes room);

inline constexpr std::size_t k_disclosure_frame_length = 4 + 1 + 4 + k_disclosed_key_length;
// The most bytes that a signed flight needs beside its hashes, and a list
std::size_t flight_frame_overhead(PacketNumber first, std::uint64_t key_sequence);
std::size_t list_frame_overhead(PacketNumber first);

}  // namespace sheaf::quic
