#pragma once

#include <algorithm>
#include <string_view>

#include "channel_authentication/integrity_frame.h"
#include "crypto/batch_hasher.h"
#include "crypto/channel_secret.h"
#include "crypto/ed25519.h"
#include "wire/fixed_fields.h"

namespace sheaf::quic {

// What the signature of a flight covers (docs/internals/multicast-authentication.md#flights)
inline constexpr std::string_view k_flight_label = "sheaf channel flight";
inline constexpr std::string_view k_list_label = "sheaf channel list";
inline constexpr std::size_t k_flight_text_length =
    k_flight_label.size() + k_channel_id_length + 8 + 8 + 4 + 2 + 1 + sizeof(Sha256Digest);
using FlightText = std::array<std::uint8_t, k_flight_text_length>;

inline Bytes as_bytes(std::string_view label) {
  return {reinterpret_cast<const std::uint8_t*>(label.data()), label.size()};
}

// `digest` is SHA-256 of the frame's hashes.
inline FlightText flight_text(const ChannelId& channel, const FlightFrame& frame,
                              const Sha256Digest& digest) {
  FlightText text;
  Writer out(text);
  out.write_bytes(as_bytes(k_flight_label));
  out.write_bytes(channel);
  fixed::write_u64(out, frame.key_sequence);
  fixed::write_u64(out, frame.first);
  out.write_u32(frame.count);
  out.write_u16(frame.per_list);
  out.write_u8(frame.hash_length);
  out.write_bytes(digest);
  return text;
}

// What the hash of a list covers: its label, its first number and its hashes
struct ListText {
  std::array<std::uint8_t, k_list_label.size() + 8 + k_max_list_hashes * k_max_hash_length> bytes;
  std::size_t length = 0;

  ListText() {}  // NOLINT: the bytes stay uninitialized
  void set(PacketNumber first, Bytes hashes) {
    Writer out(bytes);
    out.write_bytes(as_bytes(k_list_label));
    fixed::write_u64(out, first);
    out.write_bytes(hashes);
    length = out.size();
  }
  Bytes view() const { return Bytes(bytes).first(length); }
};

inline bool hash_matches(const Sha256Digest& digest, Bytes hash) {
  return std::equal(hash.begin(), hash.end(), digest.begin());
}

}  // namespace sheaf::quic
