#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "http3/field_section.h"
#include "util/bytes.h"

namespace sheaf::http3 {

// The most bytes of an encoded head that one node takes from another.
inline constexpr std::size_t k_max_encoded_head = 8 << 10;

// Encodes the fields of a response for a stream of another node's connection: without a dynamic
// table (RFC 9204), since that belongs to the connection. Returns nothing when a field is invalid
// (RFC 9114 §4.2) or the result exceeds `k_max_encoded_head`.
std::optional<std::vector<std::uint8_t>> encode_head(const FieldSection& fields);

// Returns whether an encoded head refers to no dynamic table: its Required Insert Count and its
// Delta Base are 0 (RFC 9204 §4.5.1). Any other could make the client close the connection.
bool refers_to_no_table(quic::Bytes head);

// Puts an encoded head into a HEADERS frame. With a length of the body in bytes, the header of its
// only DATA frame follows (RFC 9114 §7.2). Without, frames of the body are up to the caller.
std::vector<std::uint8_t> frame_head(quic::Bytes head, std::optional<std::uint64_t> body_length);
// Returns the size of that in bytes: the offset of the body in a stream that begins with it.
std::size_t framed_size(std::size_t head_size, std::optional<std::uint64_t> body_length);

// Returns where a response of `size` bytes ends that is to take up at least `least` bytes of its
// stream: padded with a frame of a reserved type, which means nothing (RFC 9114 §7.2.8). That takes
// 2 bytes, so a response that lacks a single one ends where it did.
std::uint64_t padded_size(std::uint64_t size, std::uint64_t least);
// Returns a frame for padding of `size` bytes; none for 0.
std::vector<std::uint8_t> padding_frame(std::size_t size);

}  // namespace sheaf::http3
